// Text of rosters, in any encoding.
#include "client/classroom/unicode.hpp"

#include <stdexcept>

#include "catch.hpp"

using namespace exchange::classroom;

TEST_CASE("UTF-16 with a mark becomes UTF-8 with one") {
  const std::string expected = std::string(utf8_mark) + "Z\u00e9\U0001f600\n";
  using namespace std::string_literals;
  CHECK(to_utf8("\xff\xfeZ\0\xe9\0\x3d\xd8\0\xde\n\0"s) == expected);
  CHECK(to_utf8("\xfe\xff\0Z\0\xe9\xd8\x3d\xde\0\0\n"s) == expected);
  // Half a pair, at the end and before another character; half a character at the end.
  CHECK(to_utf8("\xff\xfe\x3d\xd8"s) == std::string(utf8_mark) + "\ufffd");
  CHECK(to_utf8("\xff\xfe\x3d\xd8Z\0Z"s) == std::string(utf8_mark) + "\ufffdZ");
  CHECK(to_utf8(expected) == expected);
  CHECK(to_utf8("M\xfcller") == "M\xfcller");
  CHECK_THROWS_AS(to_utf8("Z\0e\0"s), std::invalid_argument);
}

TEST_CASE("texts that readers take for the same are equal") {
  CHECK(folded("  Zo\u00e9 \t Stra\u00dfe ") == folded("ZOe\u0301 STRASSE"));
  CHECK(folded("Ada\u00a0Lovelace\u200b") == "ada lovelace");
  CHECK(folded("\u200b \u202e") == "");
  CHECK(folded("M\xfcller ") == "M\xfcller");  // not UTF-8
  CHECK(folded("a@x") != folded("b@x"));
}

TEST_CASE("of a name remains what one line can show") {
  CHECK(visible(" O\u0092Brien\u202e\n von \u2028 X ") == "OBrien von X");
  CHECK(visible("\u200b\u00a0") == "");
  const std::string family = "\U0001f468\u200d\U0001f469 \u0645\u06cc\u200c\u062e";
  CHECK(visible(family) == family);
  CHECK(visible("M\xfcller") == "M\xfcller");
}
