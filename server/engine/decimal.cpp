#include "engine/decimal.hpp"

#include "base/text.hpp"

namespace exchange {
namespace {

// Parses units of 10^-decimals from `text`. Refuses a number whose magnitude is above `units_max`.
Parsed<Int128> parse_units_of(std::string_view text, int decimals, Int128 units_max,
                              Rounding rounding) {
  if (text.empty()) return {0, NumberError::missing};
  const bool negative = text.front() == '-';
  if (negative) text.remove_prefix(1);

  UInt128 units = 0;
  bool any_digit = false, point = false, overflow = false, inexact = false;
  int decimals_seen = 0;
  const auto limit = UInt128(units_max);
  for (const char c : text) {
    if (c == '.' && !point) {
      point = true;
      continue;
    }
    if (!is_digit(c)) return {0, NumberError::not_a_number};
    any_digit = true;
    if (point && decimals_seen == decimals) {
      inexact |= c != '0';
      continue;
    }
    if (point) ++decimals_seen;
    if (overflow) continue;  // keep reading: "1e9" is not a number, however long
    const unsigned digit = unsigned(c - '0');
    overflow = units > (limit - digit) / 10;
    if (!overflow) units = units * 10 + digit;
  }
  if (!any_digit) return {0, NumberError::not_a_number};
  if (inexact && rounding == Rounding::refuse) return {0, NumberError::too_many_decimals};
  for (int i = decimals_seen; i < decimals && !overflow; ++i) {
    overflow = units > limit / 10;
    if (!overflow) units *= 10;
  }
  if (inexact && rounding == Rounding::up && !negative) {
    overflow |= units == limit;
    ++units;
  }
  if (overflow) return {0, NumberError::out_of_range};
  if (inexact && units == 0) return {0, NumberError::too_many_decimals};
  return {negative ? -Int128(units) : Int128(units), NumberError::none};
}

constexpr Int128 fixed64_units_max = Int128(92'233'720'368) * 100'000'000 - 1;

void append_units(std::string& out, Int128 units, int decimals) {
  char digits[48];
  char* end = digits + sizeof digits;
  char* at = end;
  UInt128 magnitude = units < 0 ? -UInt128(units) : UInt128(units);
  int place = 0;
  bool significant = false;
  // Use 64-bit arithmetic where the number fits: 128-bit division is a library call.
  while (magnitude != 0 || place <= decimals) {
    unsigned digit;
    if (magnitude >> 64 == 0) {
      const auto low = std::uint64_t(magnitude);
      digit = unsigned(low % 10);
      magnitude = low / 10;
    } else {
      digit = unsigned(magnitude % 10);
      magnitude /= 10;
    }
    if (place == decimals && significant) *--at = '.';
    if (place >= decimals || significant || digit != 0) {
      *--at = char('0' + digit);
      significant = true;
    }
    ++place;
  }
  if (units < 0) *--at = '-';
  out.append(at, std::size_t(end - at));
}

template <class T>
Parsed<T> parse_fixed64(std::string_view text, Rounding rounding) {
  const auto parsed = parse_units_of(text, 8, fixed64_units_max, rounding);
  return {T::from_units(std::int64_t(parsed.value)), parsed.error};
}

}  // namespace

Parsed<Shares> parse_shares(std::string_view text, Rounding rounding) {
  return parse_fixed64<Shares>(text, rounding);
}
Parsed<Price> parse_price(std::string_view text, Rounding rounding) {
  return parse_fixed64<Price>(text, rounding);
}
Parsed<Cash> parse_cash(std::string_view text, Rounding rounding) {
  const auto parsed = parse_units_of(text, 16, int128_max, rounding);
  return {Cash::from_units(parsed.value), parsed.error};
}

std::string_view describe_shares_error(NumberError error) {
  switch (error) {
    case NumberError::none: return "";
    case NumberError::missing: return "is empty";
    case NumberError::not_a_number: return "is not a plain decimal number";
    case NumberError::too_many_decimals:
      return "has more than the allowed decimals: at most 8 decimals";
    case NumberError::out_of_range: return "is out of range: must be below 92233720368";
  }
  ENSURE(false);
}

std::string_view describe_cash_error(NumberError error) {
  switch (error) {
    case NumberError::too_many_decimals:
      return "has more than the allowed decimals: at most 16 decimals";
    case NumberError::out_of_range:
      return "is out of range: at most 17014118346046923173168.7303715884105727";
    default: return describe_shares_error(error);
  }
}

void append_decimal(std::string& out, Shares shares) { append_units(out, shares.units(), 8); }
void append_decimal(std::string& out, Price price) { append_units(out, price.units(), 8); }
void append_decimal(std::string& out, Cash cash) { append_units(out, cash.units(), 16); }

std::string units_text(Int128 units) {
  std::string text;
  append_units(text, units, 0);
  return text;
}

Parsed<Int128> parse_units(std::string_view text) {
  if (text.find('.') != std::string_view::npos) return {0, NumberError::not_a_number};
  return parse_units_of(text, 0, int128_max, Rounding::refuse);
}

}  // namespace exchange
