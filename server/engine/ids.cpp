#include "engine/ids.hpp"

#include <algorithm>
#include <charconv>

namespace exchange {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

}  // namespace

std::optional<AccountId> parse_account_id(std::string_view text) {
  if (text.empty() || text.size() > AccountId::size_max ||
      !std::all_of(text.begin(), text.end(), is_digit))
    return {};
  return AccountId(text);
}

std::optional<SymbolName> parse_symbol_name(std::string_view text) {
  const auto alphanumeric = [](char c) { return is_digit(c) || is_letter(c); };
  if (text.empty() || text.size() > SymbolName::size_max ||
      !std::all_of(text.begin(), text.end(), alphanumeric))
    return {};
  return SymbolName(text);
}

std::optional<OrderReference> parse_order_reference(std::string_view text) {
  const auto permitted = [](char c) {
    return is_digit(c) || is_letter(c) || c == '.' || c == '_' || c == ':' || c == '-';
  };
  if (text.empty() || text.size() > OrderReference::size_max ||
      !std::all_of(text.begin(), text.end(), permitted))
    return {};
  return OrderReference(text);
}

std::optional<OrderId> parse_order_id(std::string_view text) {
  if (text.empty() || !is_digit(text.front())) return {};
  OrderId id = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
  if (error != std::errc() || end != text.data() + text.size() || id == 0) return {};
  return id;
}

}  // namespace exchange
