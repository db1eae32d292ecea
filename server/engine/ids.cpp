#include "engine/ids.hpp"

#include <algorithm>
#include <charconv>
#include <span>

#include "base/text.hpp"

namespace exchange {
namespace {

struct CharacterRange {
  char32_t first, last;
};
bool is_among(std::span<const CharacterRange> ranges, char32_t character) {
  return std::ranges::any_of(ranges, [=](const CharacterRange& range) {
    return range.first <= character && character <= range.last;
  });
}
// Line separators, and characters that control the direction of text (Unicode: Bidi_Control).
constexpr CharacterRange disturbing[] = {
    {0x61C, 0x61C}, {0x200E, 0x200F}, {0x2028, 0x202E}, {0x2066, 0x2069}};
// White space, and characters without a glyph (Unicode: Default_Ignorable_Code_Point).
constexpr CharacterRange invisible[] = {
    {0x20, 0x20},      {0xA0, 0xA0},     {0xAD, 0xAD},     {0x34F, 0x34F},     {0x115F, 0x1160},
    {0x1680, 0x1680},  {0x17B4, 0x17B5}, {0x180B, 0x180F}, {0x2000, 0x200F},   {0x2028, 0x202F},
    {0x205F, 0x206F},  {0x2800, 0x2800}, {0x3000, 0x3000}, {0x3164, 0x3164},   {0xFE00, 0xFE0F},
    {0xFEFF, 0xFEFF},  {0xFFA0, 0xFFA0}, {0xFFF0, 0xFFF8}, {0x1BCA0, 0x1BCA3}, {0x1D173, 0x1D17A},
    {0xE0000, 0xE0FFF}};

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

std::optional<AccountName> parse_account_name(std::string_view text) {
  if (text.size() > AccountName::size_max || text.starts_with(' ') || text.ends_with(' '))
    return {};
  for (std::string_view left = text; !left.empty();) {
    const auto character = take_character(left);
    const auto is_control = [](char32_t c) { return c < 0x20 || (c >= 0x7F && c < 0xA0); };
    if (!character || is_control(*character)) return {};
  }
  return AccountName(text);
}

bool is_presentable(const AccountName& name) {
  bool is_visible = name == AccountName();
  for (std::string_view left = name.view(); !left.empty();) {
    const auto character = take_character(left);
    if (!character || is_among(disturbing, *character)) return false;
    is_visible |= !is_among(invisible, *character);
  }
  return is_visible;
}

std::optional<OrderId> parse_order_id(std::string_view text) {
  if (text.empty() || !is_digit(text.front())) return {};
  OrderId id = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
  if (error != std::errc() || end != text.data() + text.size() || id == 0) return {};
  return id;
}

}  // namespace exchange
