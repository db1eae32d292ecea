#pragma once
// The exchange's numbers: Shares and Price in units of 1e-8, Cash in units of 1e-16, all exact
// integers, in the ranges of docs/protocol.md, N3 and N4. They are distinct types, so that a price
// cannot be added to a balance; the only bridge is cost(shares, price), which is exact because 8 +
// 8 = 16.

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/ensure.hpp"

namespace exchange {

using Int128 = __int128;
using UInt128 = unsigned __int128;

// Number of shares, in units of 1e-8. Range (-92233720368, 92233720368) shares.
class Shares {
 public:
  constexpr Shares() = default;
  static constexpr Shares from_units(std::int64_t units) { return Shares(units); }
  static constexpr Shares whole(std::int64_t shares) { return Shares(shares * 100'000'000); }
  constexpr std::int64_t units() const { return units_; }
  constexpr auto operator<=>(const Shares&) const = default;
  Shares operator+(Shares other) const {
    std::int64_t sum = 0;
    ENSURE(!__builtin_add_overflow(units_, other.units_, &sum));
    return Shares(sum);
  }
  Shares operator-(Shares other) const {
    std::int64_t difference = 0;
    ENSURE(!__builtin_sub_overflow(units_, other.units_, &difference));
    return Shares(difference);
  }
  Shares& operator+=(Shares other) { return *this = *this + other; }
  Shares& operator-=(Shares other) { return *this = *this - other; }

 private:
  constexpr explicit Shares(std::int64_t units) : units_(units) {}
  std::int64_t units_ = 0;
};

// Price of one share, in units of 1e-8. Range (0, 92233720368).
class Price {
 public:
  constexpr Price() = default;
  static constexpr Price from_units(std::int64_t units) { return Price(units); }
  static constexpr Price whole(std::int64_t price) { return Price(price * 100'000'000); }
  constexpr std::int64_t units() const { return units_; }
  constexpr auto operator<=>(const Price&) const = default;

 private:
  constexpr explicit Price(std::int64_t units) : units_(units) {}
  std::int64_t units_ = 0;
};

// An amount of money, in units of 1e-16. The exchange bounds the sum of all cash by cash_total_max,
// so that no balance can overflow (Exchange::apply(CreateAccount)).
class Cash {
 public:
  constexpr Cash() = default;
  static constexpr Cash from_units(Int128 units) { return Cash(units); }
  static constexpr Cash whole(std::int64_t amount) {
    return Cash(Int128(amount) * 10'000'000'000'000'000);
  }
  constexpr Int128 units() const { return units_; }
  constexpr auto operator<=>(const Cash&) const = default;
  Cash operator+(Cash other) const {
    Int128 sum = 0;
    ENSURE(!__builtin_add_overflow(units_, other.units_, &sum));
    return Cash(sum);
  }
  Cash operator-(Cash other) const {
    Int128 difference = 0;
    ENSURE(!__builtin_sub_overflow(units_, other.units_, &difference));
    return Cash(difference);
  }
  Cash& operator+=(Cash other) { return *this = *this + other; }
  Cash& operator-=(Cash other) { return *this = *this - other; }

 private:
  constexpr explicit Cash(Int128 units) : units_(units) {}
  Int128 units_ = 0;
};

inline constexpr Int128 int128_max = Int128(~UInt128(0) >> 1);
inline constexpr Cash cash_total_max = Cash::from_units(int128_max);
inline constexpr Shares shares_total_max = Shares::from_units(INT64_MAX);

// The result is exact: the product of two numbers below 2^63 fits 127 bits.
inline Cash cost(Shares shares, Price price) {
  return Cash::from_units(Int128(shares.units()) * price.units());
}

// Returns the largest number of shares whose cost is at most `cash`. It must fit: some number of
// shares must cost more.
inline Shares affordable(Cash cash, Price price) {
  return Shares::from_units(std::int64_t(cash.units() / price.units()));
}

// Why a number was refused. describe() gives the sentence for the client.
enum class NumberError { none, missing, not_a_number, too_many_decimals, out_of_range };

template <class T>
struct Parsed {
  T value{};
  NumberError error = NumberError::none;
  explicit operator bool() const { return error == NumberError::none; }
};

// The treatment of a number with too many decimals. Zeros do not count: "1.000000000" fits. A
// number other than 0 that rounds to 0 is always refused.
enum class Rounding { refuse, towards_zero, up };

// These accept plain decimals only: an optional '-', digits with at most one point (which may lead
// or trail), no exponent, no '+', no white space. (docs/protocol.md, N1 to N8)
Parsed<Shares> parse_shares(std::string_view text, Rounding rounding = Rounding::refuse);
Parsed<Price> parse_price(std::string_view text, Rounding rounding = Rounding::refuse);
Parsed<Cash> parse_cash(std::string_view text, Rounding rounding = Rounding::refuse);
std::string_view describe_shares_error(NumberError error);
std::string_view describe_cash_error(NumberError error);

// Appends the shortest plain decimal: "200", "127.5", "0.00000001".
void append_decimal(std::string& out, Shares shares);
void append_decimal(std::string& out, Price price);
void append_decimal(std::string& out, Cash cash);
template <class T>
std::string to_string(T number) {
  std::string text;
  append_decimal(text, number);
  return text;
}

// Returns the raw units as an integer literal, for stores whose columns hold units.
std::string units_text(Int128 units);
// Parses a text that units_text() wrote.
Parsed<Int128> parse_units(std::string_view text);

}  // namespace exchange
