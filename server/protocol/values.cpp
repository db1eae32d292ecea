#include "protocol/values.hpp"

namespace exchange {
namespace {

using enum ErrorCode;

template <class Parsed, class Value>
Problem take(const std::optional<Parsed>& parsed, Value& value, ErrorCode code,
             std::string_view sentence) {
  if (!parsed) return {code, std::string(sentence)};
  value = *parsed;
  return {};
}

// Stores a number of at least 0, or returns the problem.
template <class Number>
Problem take(const Parsed<Number>& parsed, Number& value, std::string_view name,
             std::string_view (*describe)(NumberError)) {
  if (!parsed) return number_problem(parsed.error, name, describe(parsed.error));
  if (parsed.value < Number()) return {number_out_of_range, std::string(name) + " is negative"};
  value = parsed.value;
  return {};
}

}  // namespace

Problem number_problem(NumberError error, std::string_view name, std::string_view why) {
  const bool is_number =
      error == NumberError::out_of_range || error == NumberError::too_many_decimals;
  return {is_number ? number_out_of_range : malformed_number,
          std::string(name) + " " + std::string(why)};
}

Problem read_value(std::string_view text, AccountId& value, std::string_view) {
  return take(parse_account_id(text), value, malformed_id, "account id must be 1 to 64 digits");
}

Problem read_value(std::string_view text, SymbolName& value, std::string_view) {
  return take(parse_symbol_name(text), value, malformed_symbol,
              "symbol must be 1 to 32 letters and digits");
}

Problem read_value(std::string_view text, OrderReference& value, std::string_view name) {
  return take(parse_order_reference(text), value, malformed_reference,
              std::string(name) + " must be 1 to 64 characters of A-Z a-z 0-9 . _ : -");
}

Problem read_value(std::string_view text, AccountName& value, std::string_view name) {
  Problem problem = take(parse_account_name(text), value, malformed_name,
                         std::string(name) +
                             " must have at most 40 bytes of UTF-8, no control characters, and no "
                             "spaces at its ends");
  if (!problem && !is_presentable(value))
    problem = {malformed_name, std::string(name) +
                                   " must have a visible character, and none that ends a line or "
                                   "sets the direction of text"};
  return problem;
}

Problem read_value(std::string_view text, std::uint64_t& value, std::string_view name) {
  const auto number = parse_order_id(text);
  const bool is_id = name == "id";
  if (!number)
    return {is_id ? malformed_id : malformed_number,
            (is_id ? "transaction id" : std::string(name)) + " must be a whole number from 1"};
  value = *number;
  return {};
}

Problem read_value(std::string_view text, std::optional<std::uint64_t>& value,
                   std::string_view name) {
  if (text != "0") return read_value(text, value.emplace(), name);
  value = 0;
  return {};
}

Problem read_value(std::string_view text, Cash& value, std::string_view name) {
  return take(parse_cash(text, Rounding::towards_zero), value, name, describe_cash_error);
}

Problem read_value(std::string_view text, Shares& value, std::string_view name) {
  return take(parse_shares(text, Rounding::towards_zero), value, name, describe_shares_error);
}

Problem read_value(std::string_view text, Price& value, std::string_view name) {
  return take(parse_price(text, Rounding::towards_zero), value, name, describe_shares_error);
}

}  // namespace exchange
