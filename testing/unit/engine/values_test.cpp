// Names and numbers of things, as requests write them; fuzz/decimal.cpp compares the numbers with
// an oracle that works only on text.
#include "catch.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "engine/decimal.hpp"
#include "engine/ids.hpp"

using namespace exchange;
using enum NumberError;

namespace {

using Texts = std::vector<std::string>;

template <class Parse>
void check_texts(Parse parse, const Texts& good, const Texts& bad) {
  for (const std::string& text : good) {
    INFO(text);
    REQUIRE(parse(text).has_value());
    CHECK(parse(text)->view() == text);
  }
  for (const std::string& text : bad) {
    INFO(text);
    CHECK_FALSE(parse(text).has_value());
  }
}

}  // namespace

TEST_CASE("an account id is 1 to 64 digits, kept as written") {
  check_texts(parse_account_id, {"7", "007", "0", std::string(64, '9')},
              {"", "-7", "+7", "7 ", " 7", "7a", "7.0", {"1\0", 2}, std::string(65, '9')});
  CHECK_FALSE(*parse_account_id("7") == *parse_account_id("007"));
}

TEST_CASE("a symbol name is 1 to 32 ASCII letters and digits, case kept") {
  check_texts(parse_symbol_name, {"A", "SpY500", "0", std::string(32, 'z')},
              {"", "\xc3\xa9", std::string(33, 'z'), "A B", "A-B", "A_B", "A.", "[A", "A`", "@",
               "A{", "A/", "A:"});
  CHECK_FALSE(*parse_symbol_name("a") == *parse_symbol_name("A"));
}

TEST_CASE("an order id is an integer from 1 that fits 64 bits") {
  CHECK(parse_order_id("1") == OrderId(1));
  CHECK(parse_order_id("18446744073709551615") == OrderId(UINT64_MAX));
  for (const char* text : {"", "0", "-1", "+1", " 1", "1 ", "1.0", "1e3", "0x1", "one",
                           "18446744073709551616", "99999999999999999999999999"}) {
    INFO(text);
    CHECK_FALSE(parse_order_id(text).has_value());
  }
}

TEST_CASE("a name of an account is UTF-8 of 40 bytes at most, without control characters") {
  const std::string longest(40, 'n');
  check_texts(parse_account_name,
              {"", longest, "\u20ac\u20ac", "Zo\u00eb & <\"Co\">", "\U0001f600", "a  b", "\u00a0",
               "\xed\x9f\xbf\xee\x80\x80"},
              {longest + "n", " a", "a ", " ", "a\tb", "a\nb", std::string(1, '\0'), "\x7f",
               "\xc2\x85", "\xc3", "\xa9", "\xc0\x80", "\xc1\xbf", "\xe0\x9f\xbf", "\xed\xa0\x80",
               "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf8\x88\x80\x80\x80", "\u20ac\xe2\x82"});
}

TEST_CASE("ids are equal if every character is, at any length") {
  const std::string text(64, '7');
  for (std::size_t size = 1; size <= 64; ++size) {
    INFO(size);
    const AccountId id(text.substr(0, size));
    CHECK(id == AccountId(text.substr(0, size)));
    for (std::size_t other = 0; other < size; ++other) {
      CHECK_FALSE(id == AccountId(text.substr(0, other)));
      CHECK_FALSE(AccountId(text.substr(0, other)) == id);
      std::string changed = text.substr(0, size);
      changed[other] = '8';
      CHECK_FALSE(id == AccountId(changed));
    }
  }
}

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
  CHECK(units_text(int128_max) == "170141183460469231731687303715884105727");
  CHECK(units_text(-int128_max - 1) == "-170141183460469231731687303715884105728");
}

TEST_CASE("a cost is exact at the ends of its range") {
  const auto most = parse_shares("92233720367.99999999").value;
  const auto dearest = parse_price("92233720367.99999999").value;
  CHECK(units_text(cost(most, dearest).units()) == "85070591729224180535793255926400000001");
  CHECK(cost(most, Price::from_units(1)) == Cash::from_units(most.units()));
  CHECK(cost(Shares::from_units(1), Price::from_units(1)) == Cash::from_units(1));
  CHECK(cost(Shares::whole(3), Price::whole(127)) == Cash::whole(381));
}
