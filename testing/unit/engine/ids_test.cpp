// Names and numbers of things, as requests write them.
#include "catch.hpp"

#include <string>

#include "engine/ids.hpp"

using namespace exchange;

TEST_CASE("an account id is 1 to 64 digits, kept as written") {
  for (const std::string& text :
       {std::string("7"), std::string("007"), std::string("0"), std::string(64, '9')}) {
    INFO(text);
    REQUIRE(parse_account_id(text).has_value());
    CHECK(parse_account_id(text)->view() == text);
  }
  for (const std::string& text :
       {std::string(), std::string("-7"), std::string("+7"), std::string("7 "), std::string(" 7"),
        std::string("7a"), std::string("7.0"), std::string("1\0", 2), std::string(65, '9')}) {
    INFO(text);
    CHECK_FALSE(parse_account_id(text).has_value());
  }
  CHECK_FALSE(*parse_account_id("7") == *parse_account_id("007"));
}

TEST_CASE("a symbol name is 1 to 32 ASCII letters and digits, case kept") {
  for (const std::string& text :
       {std::string("A"), std::string("SpY500"), std::string("0"), std::string(32, 'z')}) {
    INFO(text);
    REQUIRE(parse_symbol_name(text).has_value());
    CHECK(parse_symbol_name(text)->view() == text);
  }
  for (const std::string& text : {std::string(), std::string("\xc3\xa9"), std::string(33, 'z')}) {
    INFO(text);
    CHECK_FALSE(parse_symbol_name(text).has_value());
  }
  for (const char* text : {"A B", "A-B", "A_B", "A.", "[A", "A`", "@", "A{", "A/", "A:"}) {
    INFO(text);
    CHECK_FALSE(parse_symbol_name(text).has_value());
  }
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

TEST_CASE("a timestamp prints as whole seconds") {
  CHECK(Timestamp{1'999'999}.seconds() == 1);
  CHECK(Timestamp{2'000'000}.seconds() == 2);
}

TEST_CASE("ids are equal where every character is, whatever their length") {
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
