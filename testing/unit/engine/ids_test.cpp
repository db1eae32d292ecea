// Names and numbers of things, as requests write them.
#include "catch.hpp"

#include <string>
#include <vector>

#include "engine/ids.hpp"

using namespace exchange;

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
  const std::string longest(40, 'n'), euros = "\u20ac\u20ac";
  for (const std::string& text : {std::string(), longest, euros, std::string("Zo\u00eb & <\"Co\">"),
                                  std::string("\U0001f600"), std::string("a  b"),
                                  std::string("\u00a0"), std::string("\xed\x9f\xbf\xee\x80\x80")}) {
    INFO(text);
    CHECK((parse_account_name(text) && parse_account_name(text)->view() == text));
  }
  for (const std::string& text :
       {longest + "n", std::string(" a"), std::string("a "), std::string(" "), std::string("a\tb"),
        std::string("a\nb"), std::string(1, '\0'), std::string("\x7f"), std::string("\xc2\x85"),
        std::string("\xc3"), std::string("\xa9"), std::string("\xc0\x80"), std::string("\xc1\xbf"),
        std::string("\xe0\x9f\xbf"), std::string("\xed\xa0\x80"), std::string("\xf0\x8f\xbf\xbf"),
        std::string("\xf4\x90\x80\x80"), std::string("\xf8\x88\x80\x80\x80"), euros.substr(0, 5)}) {
    INFO(text);
    CHECK_FALSE(parse_account_name(text).has_value());
  }
}

TEST_CASE("a timestamp prints as whole seconds") {
  CHECK(Timestamp{1'999'999}.seconds() == 1);
  CHECK(Timestamp{2'000'000}.seconds() == 2);
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
