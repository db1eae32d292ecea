#pragma once
// Evaluates the grammar of docs/protocol.md, N1 to N8 on a text, in decimal digits without
// arithmetic. The reading of numbers is compared with it.

#include <algorithm>
#include <string>
#include <string_view>

#include "engine/decimal.hpp"

namespace exchange::fuzz {

inline constexpr std::string_view fixed64_max_units = "9223372036799999999",
                                  cash_max_units = "170141183460469231731687303715884105727";

// Digits without leading zeros, scaled by 10^decimals.
struct DecimalOracle {
  NumberError error = NumberError::none;
  bool negative = false;
  std::string units;

  std::string signed_units() const { return (negative ? "-" : "") + units; }
  // Returns the shortest plain decimal.
  std::string shortest(std::size_t decimals) const {
    std::string digits = units;
    if (digits.size() <= decimals) digits.insert(0, decimals + 1 - digits.size(), '0');
    std::string fraction = digits.substr(digits.size() - decimals);
    while (fraction.ends_with('0')) fraction.pop_back();
    return (negative ? "-" : "") + digits.substr(0, digits.size() - decimals) +
           (fraction.empty() ? "" : "." + fraction);
  }
};

inline DecimalOracle read_decimal(std::string_view text, std::size_t decimals,
                                  std::string_view units_max,
                                  Rounding rounding = Rounding::refuse) {
  if (text.empty()) return {NumberError::missing};
  DecimalOracle oracle;
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
  oracle.units = "0" + whole + kept + std::string(decimals - kept.size(), '0');
  if (inexact && rounding == Rounding::up && !oracle.negative) {  // adds one unit
    std::size_t at = oracle.units.size() - 1;
    for (; oracle.units[at] == '9'; --at) oracle.units[at] = '0';
    ++oracle.units[at];
  }
  oracle.units.erase(0, std::min(oracle.units.find_first_not_of('0'), oracle.units.size()));
  if (oracle.units.size() > units_max.size() ||
      (oracle.units.size() == units_max.size() && oracle.units > units_max))
    return {NumberError::out_of_range};
  if (oracle.units.empty() && inexact) return {NumberError::too_many_decimals};
  if (oracle.units.empty()) oracle = {NumberError::none, false, "0"};
  return oracle;
}

}  // namespace exchange::fuzz
