#include "base/key_file.hpp"

#include <fstream>

#include "catch.hpp"
#include "support/folder.hpp"

using namespace exchange;
using namespace exchange::testing;

TEST_CASE("a key file has one line of UTF-8, and a key has no blanks at its ends") {
  const TemporaryFolder folder;
  const std::string path = folder / "key";
  const auto read = [&](const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
    return read_key_file(path).key;
  };
  for (const std::string key : {"operator-key-1", "two words", "k\u00e4se\U0001F9C0"})
    for (const std::string end : {"", "\n", "\r\n"})
      for (const std::string mark : {"", "\xEF\xBB\xBF"}) CHECK(read(mark + key + end) == key);
  for (const char* text : {"operator-key-1 ", " operator-key-1\n", "          \n"})
    CHECK_THROWS_WITH(read(text), contains_text("has a blank at the beginning or the end"));
  for (const char* text : {"operator\xFCkey", "operator\xC0\xAFkey", "operator-key\xE2\x82",
                           "operator\xED\xA0\x80key", "operator\xF5\x80\x80\x80key"})
    CHECK_THROWS_WITH(read(text), contains_text("is not UTF-8"));
  for (const char* text : {"two\nlines\n", "tab\tin it", "key\n\n"})
    CHECK_THROWS_WITH(read(text), contains_text("is not a key: one line of text"));
  CHECK_THROWS_WITH(read("\n"), contains_text("is empty"));
}
