// Numbers as clients write them, against an oracle of decimal digits in text: whatever is accepted
// has exactly the value that was written, prints in its shortest form and reads back; whatever is
// refused has the right reason. Input: the text.

#include <algorithm>

#include "engine/decimal.hpp"
#include "engine/ids.hpp"
#include "fuzz/fuzz.hpp"

namespace exchange::fuzz {
namespace {

// A number as docs/protocol.md, N1 to N8 have it, in digits without leading zeros, scaled by
// 10^decimals.
struct Oracle {
  NumberError error = NumberError::none;
  bool negative = false;
  std::string units;
};

// One more, of digits.
std::string successor(std::string digits) {
  digits.insert(0, "0");
  std::size_t at = digits.size() - 1;
  for (; digits[at] == '9'; --at) digits[at] = '0';
  ++digits[at];
  return digits;
}

Oracle read(std::string_view text, std::size_t decimals, std::string_view units_max,
            Rounding rounding = Rounding::refuse) {
  if (text.empty()) return {NumberError::missing};
  Oracle oracle;
  oracle.negative = text.starts_with('-');
  if (oracle.negative) text.remove_prefix(1);
  const std::size_t point = text.find('.');
  const std::string whole(text.substr(0, point));
  const std::string fraction(point == std::string_view::npos ? "" : text.substr(point + 1));
  const std::string digits = whole + fraction;
  if (digits.empty() || digits.find_first_not_of("0123456789") != std::string::npos)
    return {NumberError::not_a_number};
  const std::string kept = fraction.substr(0, decimals), dropped = fraction.substr(kept.size());
  const bool inexact = dropped.find_first_not_of('0') != std::string::npos;
  if (inexact && rounding == Rounding::refuse) return {NumberError::too_many_decimals};
  oracle.units = whole + kept + std::string(decimals - kept.size(), '0');
  if (inexact && rounding == Rounding::up && !oracle.negative)
    oracle.units = successor(oracle.units);
  oracle.units.erase(0, std::min(oracle.units.find_first_not_of('0'), oracle.units.size()));
  const auto larger = [](std::string_view a, std::string_view b) {
    return a.size() != b.size() ? a.size() > b.size() : a > b;
  };
  if (larger(oracle.units, units_max)) return {NumberError::out_of_range};
  if (oracle.units.empty() && inexact) return {NumberError::too_many_decimals};
  if (oracle.units.empty()) oracle = {NumberError::none, false, "0"};
  return oracle;
}

// Shortest plain decimal of so many units.
std::string shortest(const Oracle& oracle, std::size_t decimals) {
  std::string digits = oracle.units;
  if (digits.size() <= decimals) digits.insert(0, decimals + 1 - digits.size(), '0');
  std::string fraction = digits.substr(digits.size() - decimals);
  while (fraction.ends_with('0')) fraction.pop_back();
  return (oracle.negative ? "-" : "") + digits.substr(0, digits.size() - decimals) +
         (fraction.empty() ? "" : "." + fraction);
}

template <class Number>
void check(const Parsed<Number>& parsed, Parsed<Number> (*parse)(std::string_view),
           std::string_view text, std::size_t decimals, std::string_view units_max,
           Rounding rounding = Rounding::refuse) {
  const Oracle expected = read(text, decimals, units_max, rounding);
  const auto details = [&] { return "text: " + std::string(text); };
  HOLDS(parsed.error == expected.error, details());
  if (!parsed) return;
  const std::string sign = expected.negative ? "-" : "";
  HOLDS(units_text(parsed.value.units()) == sign + expected.units,
        details() + " units: " + units_text(parsed.value.units()));
  const std::string printed = to_string(parsed.value);
  HOLDS(printed == shortest(expected, decimals), details() + " printed: " + printed);
  const Parsed<Number> again = parse(printed);
  HOLDS(again && again.value == parsed.value, details() + " printed: " + printed);
}

Parsed<Cash> parse_cash_units(std::string_view text) {
  const Parsed<Int128> parsed = parse_units(text);
  return {Cash::from_units(parsed.value), parsed.error};
}

void check_units(std::string_view text) {
  const bool point = text.find('.') != std::string_view::npos;
  const Oracle expected = read(point ? "x" : text, 0, "170141183460469231731687303715884105727");
  const Parsed<Cash> parsed = parse_cash_units(text);
  HOLDS(parsed.error == expected.error, std::string(text));
  if (parsed)
    HOLDS(units_text(parsed.value.units()) == (expected.negative ? "-" : "") + expected.units,
          std::string(text));
}

void check_order_id(std::string_view text) {
  const auto id = parse_order_id(text);
  const bool digits =
      !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
  const Oracle expected = read(digits ? text : "x", 0, "18446744073709551615");
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
  fuzz::check<Shares>(parse_shares(text), parse_shares, text, 8, "9223372036799999999");
  for (const Rounding rounding : {Rounding::refuse, Rounding::down, Rounding::up})
    fuzz::check<Price>(parse_price(text, rounding), parse_exact_price, text, 8,
                       "9223372036799999999", rounding);
  fuzz::check<Cash>(parse_cash(text), parse_cash, text, 16,
                    "170141183460469231731687303715884105727");
  fuzz::check_units(text);
  fuzz::check_order_id(text);
  return 0;
}
