// Reading and printing of numbers, by example and against an oracle that works only on text.
#include "catch.hpp"

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "fuzz/decimal_oracle.hpp"

using namespace exchange;
using namespace exchange::fuzz;
using enum NumberError;

namespace {

template <class T>
void check_like_oracle(const Parsed<T>& parsed, const DecimalOracle& expected) {
  REQUIRE(parsed.error == expected.error);
  if (parsed) REQUIRE(units_text(parsed.value.units()) == expected.signed_units());
}

void check_text(const std::string& text) {
  INFO("text '" << text << "'");
  check_like_oracle(parse_shares(text), read_decimal(text, 8, fixed64_max_units));
  for (const Rounding rounding : {Rounding::refuse, Rounding::towards_zero, Rounding::up})
    check_like_oracle(parse_price(text, rounding),
                      read_decimal(text, 8, fixed64_max_units, rounding));
  check_like_oracle(parse_cash(text), read_decimal(text, 16, cash_max_units));
}

}  // namespace

TEST_CASE("numbers are read exactly") {
  const auto units = [](std::string_view text) { return parse_shares(text).value.units(); };
  CHECK(units("0") == 0);
  CHECK(units("-0") == 0);
  CHECK(units("200") == 20'000'000'000);
  CHECK(units("127.5") == 12'750'000'000);
  CHECK(units("-127.5") == -12'750'000'000);
  CHECK(units("0.00000001") == 1);
  CHECK(units(".5") == 50'000'000);
  CHECK(units("-.5") == -50'000'000);
  CHECK(units("5.") == 500'000'000);
  CHECK(units("007.10") == 710'000'000);
  CHECK(units("92233720367.99999999") == 9'223'372'036'799'999'999);
  CHECK(units("-92233720367.99999999") == -9'223'372'036'799'999'999);
  CHECK(parse_price("127.5").value == Price::from_units(12'750'000'000));
  CHECK(parse_cash("0.0000000000000001").value == Cash::from_units(1));
  CHECK(parse_cash("17014118346046923173168.7303715884105727").value == cash_total_max);
}

TEST_CASE("texts that are no plain decimal are refused") {
  for (const char* text :
       {"-",  ".",  "-.",  "+1",  "--1", "1-",  "1e9", "1E9", "0x10", "1,000", "1.2.3",   "..1",
        " 1", "1 ", "1 0", "\t1", "1\n", "inf", "nan", "one", "1f",   "1'000", "\xd9\xa1"}) {
    INFO(text);
    CHECK(parse_shares(text).error == not_a_number);
    CHECK(parse_price(text).error == not_a_number);
    CHECK(parse_cash(text).error == not_a_number);
  }
  CHECK(parse_shares(std::string_view("1\0", 2)).error == not_a_number);
  CHECK(parse_shares("").error == missing);
}

TEST_CASE("more decimals than fit are refused, not rounded") {
  CHECK(parse_shares("0.000000001").error == too_many_decimals);
  CHECK(parse_shares("1.0000000001").error == too_many_decimals);
  CHECK(parse_shares("-1.0000000001").error == too_many_decimals);
  CHECK(parse_price("0.123456789").error == too_many_decimals);
  CHECK(parse_cash("0.12345678901234567").error == too_many_decimals);
  CHECK(parse_shares("0.0000000000000000000000x").error == not_a_number);
}

TEST_CASE("zeros behind the last decimal that fits are ignored") {
  CHECK(parse_shares("1.000000000000").value == Shares::whole(1));
  CHECK(parse_shares("-0.000000010").value == Shares::from_units(-1));
  CHECK(parse_price("127.500000000").value == Price::from_units(12'750'000'000));
  CHECK(parse_cash("0.00000000000000010").value == Cash::from_units(1));
  CHECK(parse_shares("92233720367.9999999900000000000000000000000000000000000").value.units() ==
        9'223'372'036'799'999'999);
  CHECK(parse_shares("92233720368.000000000").error == out_of_range);
}

TEST_CASE(
    "a price with more decimals than fit is rounded as asked, and never to 0 nor out of range") {
  const auto units = [](std::string_view text, Rounding rounding) {
    return parse_price(text, rounding).value.units();
  };
  CHECK(units("127.123456789", Rounding::towards_zero) == 12'712'345'678);
  CHECK(units("127.123456789", Rounding::up) == 12'712'345'679);
  CHECK(units("127.1234567800000000000000001", Rounding::towards_zero) == 12'712'345'678);
  CHECK(units("127.1234567800000000000000001", Rounding::up) == 12'712'345'679);
  CHECK(units("127.12345678000", Rounding::up) == 12'712'345'678);
  CHECK(units("9.999999999", Rounding::up) == 1'000'000'000);
  CHECK(units("0.000000001", Rounding::up) == 1);
  CHECK(parse_price("0.000000001", Rounding::towards_zero).error == too_many_decimals);
  CHECK(parse_price("-0.000000001", Rounding::up).error == too_many_decimals);
  CHECK(parse_price("0.000000000", Rounding::towards_zero).error == none);
  CHECK(units("92233720367.999999999", Rounding::towards_zero) == 9'223'372'036'799'999'999);
  CHECK(parse_price("92233720367.999999999", Rounding::up).error == out_of_range);
  CHECK(parse_price("0.123456789x", Rounding::up).error == not_a_number);
}

TEST_CASE("numbers out of range are refused") {
  for (const char* text : {"92233720368", "-92233720368", "92233720368.00000000", "100000000000",
                           "18446744073709551616", "340282366920938463463374607431768211456",
                           "99999999999999999999999999999999999999999999999999"}) {
    INFO(text);
    CHECK(parse_shares(text).error == out_of_range);
    CHECK(parse_price(text).error == out_of_range);
  }
  CHECK(parse_cash("17014118346046923173168.7303715884105728").error == out_of_range);
  CHECK(parse_cash("34028236692093846346337.4607431768211456").error == out_of_range);
  CHECK(parse_cash("170141183460469231731687303715884105727").error == out_of_range);
  CHECK(parse_shares("99999999999999999999999999999999999999999999999999x").error == not_a_number);
}

TEST_CASE("every number error has its own sentence") {
  CHECK(describe_shares_error(too_many_decimals).find("at most 8 decimals") !=
        std::string_view::npos);
  CHECK(describe_cash_error(too_many_decimals).find("at most 16 decimals") !=
        std::string_view::npos);
  for (const auto describe : {describe_shares_error, describe_cash_error}) {
    CHECK(describe(none).empty());
    std::vector<std::string_view> sentences;
    for (const NumberError error : {missing, not_a_number, too_many_decimals, out_of_range}) {
      CHECK_FALSE(describe(error).empty());
      CHECK(std::find(sentences.begin(), sentences.end(), describe(error)) == sentences.end());
      sentences.push_back(describe(error));
    }
  }
}

TEST_CASE("numbers are printed in shortest plain decimal") {
  CHECK(to_string(Shares::whole(200)) == "200");
  CHECK(to_string(Shares()) == "0");
  CHECK(to_string(Shares::from_units(1)) == "0.00000001");
  CHECK(to_string(Shares::from_units(-1)) == "-0.00000001");
  CHECK(to_string(Shares::from_units(1'050'000'000)) == "10.5");
  CHECK(to_string(Shares::from_units(INT64_MAX)) == "92233720368.54775807");
  CHECK(to_string(Shares::from_units(INT64_MIN)) == "-92233720368.54775808");
  CHECK(to_string(Price::from_units(12'750'000'000)) == "127.5");
  CHECK(to_string(Cash::whole(1'000'000)) == "1000000");
  CHECK(to_string(Cash::from_units(1)) == "0.0000000000000001");
  CHECK(to_string(cash_total_max) == "17014118346046923173168.7303715884105727");
  CHECK(units_text(0) == "0");
  CHECK(units_text(-100) == "-100");
  CHECK(units_text(int128_max) == cash_max_units);
  CHECK(units_text(-int128_max - 1) == "-170141183460469231731687303715884105728");
}

TEST_CASE("printing appends") {
  std::string text = "shares=";
  append_decimal(text, Shares::whole(-3));
  CHECK(text == "shares=-3");
}

TEST_CASE("any units survive being printed and read") {
  std::mt19937_64 random(test_seed());
  for (int i = 0; i < 100'000; ++i) {
    auto units = std::int64_t(random() >> (1 + random() % 63));  // all magnitudes
    for (auto zeros = random() % 10; zeros > 0 && units < INT64_MAX / 10; --zeros) units *= 10;
    units %= 9'223'372'036'800'000'000;  // the first number out of range
    if (random() % 2 == 0) units = -units;
    const auto shares = Shares::from_units(units);
    REQUIRE(parse_shares(to_string(shares)).value == shares);
    REQUIRE(parse_price(to_string(Price::from_units(units))).value == Price::from_units(units));

    const Int128 wide = (Int128(random() >> 1) << 64 | random()) >> (random() % 127);
    const auto cash = Cash::from_units(random() % 2 == 0 ? wide : -wide);
    const std::string text = to_string(cash);
    REQUIRE(parse_cash(text).value == cash);
    REQUIRE(parse_units(units_text(cash.units())).value == cash.units());
    const bool shortest = text.find('.') == std::string::npos || text.back() != '0';
    REQUIRE(shortest);
  }
}

TEST_CASE("random texts are read exactly if they are plain decimals in range") {
  std::mt19937_64 random(test_seed());
  const std::string characters = "0123456789009.-e+ x";
  for (int i = 0; i < 20'000; ++i) {
    std::string text;
    for (auto size = random() % 10; size > 0; --size)
      text += characters[random() % characters.size()];
    check_text(text);
  }
  // mostly valid: digits, a point, a sign, sometimes one wrong character
  for (int i = 0; i < 20'000; ++i) {
    std::string text = random() % 3 == 0 ? "-" : "";
    for (auto size = random() % (i % 2 ? 14 : 42); size > 0; --size)
      text += char('0' + random() % 10);
    if (random() % 3 != 0) text += '.';
    for (auto size = random() % 18; size > 0; --size) text += char('0' + random() % 10);
    if (random() % 8 == 0 && !text.empty())
      text[random() % text.size()] = characters[random() % characters.size()];
    check_text(text);
  }
}

TEST_CASE("texts around the ends of the ranges are read exactly") {
  for (const char* whole : {"92233720367", "92233720368", "17014118346046923173168"})
    for (const char* fraction :
         {"", ".", ".0", ".99999998", ".99999999", ".999999990", ".54775807", ".54775808",
          ".7303715884105726", ".7303715884105727", ".7303715884105728", ".73037158841057270"})
      for (const char* before :
           {"", "-", "0", "-000000000000000000000000000000000000000000000000000"})
        check_text(std::string(before) + whole + fraction);
}

TEST_CASE("a cost is exact at the ends of its range") {
  const auto most = parse_shares("92233720367.99999999").value;
  const auto dearest = parse_price("92233720367.99999999").value;
  CHECK(units_text(cost(most, dearest).units()) == "85070591729224180535793255926400000001");
  CHECK(cost(most, Price::from_units(1)) == Cash::from_units(most.units()));
  CHECK(cost(Shares::from_units(1), Price::from_units(1)) == Cash::from_units(1));
  CHECK(cost(Shares::whole(3), Price::whole(127)) == Cash::whole(381));
}
