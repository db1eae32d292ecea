// Numbers as clients write them, compared with an oracle of decimal digits in text: an accepted
// number has exactly the value that was written, prints in its shortest form and reads back; a
// refused one has the right reason. Input: the text.

#include "engine/ids.hpp"
#include "fuzz/decimal_oracle.hpp"
#include "fuzz/fuzz.hpp"

namespace exchange::fuzz {
namespace {

template <class Number>
void check(const Parsed<Number>& parsed, Parsed<Number> (*parse)(std::string_view),
           std::string_view text, std::size_t decimals, std::string_view units_max,
           Rounding rounding = Rounding::refuse) {
  const DecimalOracle expected = read_decimal(text, decimals, units_max, rounding);
  const auto details = [&] { return "text: " + std::string(text); };
  HOLDS(parsed.error == expected.error, details());
  if (!parsed) return;
  HOLDS(units_text(parsed.value.units()) == expected.signed_units(),
        details() + " units: " + units_text(parsed.value.units()));
  const std::string printed = to_string(parsed.value);
  HOLDS(printed == expected.shortest(decimals), details() + " printed: " + printed);
  const Parsed<Number> again = parse(printed);
  HOLDS(again && again.value == parsed.value, details() + " printed: " + printed);
}

Parsed<Cash> parse_cash_units(std::string_view text) {
  const Parsed<Int128> parsed = parse_units(text);
  return {Cash::from_units(parsed.value), parsed.error};
}

void check_units(std::string_view text) {
  const bool point = text.find('.') != std::string_view::npos;
  const DecimalOracle expected = read_decimal(point ? "x" : text, 0, cash_max_units);
  const Parsed<Cash> parsed = parse_cash_units(text);
  HOLDS(parsed.error == expected.error, std::string(text));
  if (parsed) HOLDS(units_text(parsed.value.units()) == expected.signed_units(), std::string(text));
}

void check_order_id(std::string_view text) {
  const auto id = parse_order_id(text);
  const bool digits =
      !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
  const DecimalOracle expected = read_decimal(digits ? text : "x", 0, "18446744073709551615");
  const bool sound = expected.error == NumberError::none && expected.units != "0";
  HOLDS(id.has_value() == sound, std::string(text));
  if (id) HOLDS(std::to_string(*id) == expected.units, std::string(text));
}

}  // namespace
}  // namespace exchange::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace exchange;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto parse_exact_price = [](std::string_view exact) { return parse_price(exact); };
  const auto parse_exact_shares = [](std::string_view exact) { return parse_shares(exact); };
  const auto parse_exact_cash = [](std::string_view exact) { return parse_cash(exact); };
  for (const Rounding rounding : {Rounding::refuse, Rounding::towards_zero, Rounding::up}) {
    fuzz::check<Shares>(parse_shares(text, rounding), parse_exact_shares, text, 8,
                        fuzz::fixed64_max_units, rounding);
    fuzz::check<Price>(parse_price(text, rounding), parse_exact_price, text, 8,
                       fuzz::fixed64_max_units, rounding);
    fuzz::check<Cash>(parse_cash(text, rounding), parse_exact_cash, text, 16, fuzz::cash_max_units,
                      rounding);
  }
  fuzz::check_units(text);
  fuzz::check_order_id(text);
  return 0;
}
