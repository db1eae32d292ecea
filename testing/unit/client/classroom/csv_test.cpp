// Tables of spreadsheets and course systems.
#include "client/classroom/csv.hpp"

#include <stdexcept>

#include "catch.hpp"

using namespace exchange::classroom;

namespace {

std::string error(const std::string& text) {
  try {
    parse_csv(text);
    return "";
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
}

}  // namespace

TEST_CASE("tables as spreadsheets write them") {
  const CsvRow heading{"name", "email"};
  const std::vector<CsvRow> rows{{"Ada, Countess", "ada@x.org"}, {"Alan \"T\"", ""}};
  for (const std::string text :
       {"name,email\n\"Ada, Countess\",ada@x.org\n\"Alan \"\"T\"\"\",\n",
        "\xef\xbb\xbfname,email\r\n\r\n\"Ada, Countess\",ada@x.org\r\n,\r\n\"Alan \"\"T\"\"\"",
        "name;email\nAda, Countess;ada@x.org\n\"Alan \"\"T\"\"\";\n",
        "name\temail\nAda, Countess\tada@x.org\n\"Alan \"\"T\"\"\"\t",
        "\xef\xbb\xbfsep=;\r\n name ; email\t\r\nAda, Countess;ada@x.org\n\"Alan \"\"T\"\"\";\n",
        "sep=,\nname,email\n\"Ada, Countess\",ada@x.org\n\"Alan \"\"T\"\"\",\n"}) {
    INFO(text);
    const CsvTable table = parse_csv(text);
    CHECK(table.heading == heading);
    CHECK(table.rows == rows);
    const CsvTable again = parse_csv(to_csv(table));
    CHECK(again.rows == rows);
    CHECK(again.separator == table.separator);
    CHECK(again.has_mark == text.starts_with('\xef'));
  }
  CHECK(parse_csv("a,b\n\"two\nlines\",x").rows == std::vector<CsvRow>{{"two\nlines", "x"}});
}

TEST_CASE("what is no table is reported with its line") {
  CHECK(error("") == "line 1: a heading with the names of the columns is missing");
  CHECK(error("a,b\n1,2\n\n1,2,3\n") == "line 4: 3 cells, but the heading has 2");
  CHECK(error("a,b\n\"1,2\n3,4\n") == "line 2: a quote that does not end");
  CHECK(error("a,b\n\"Ada\" L,2\n") == "line 2: text behind a closing quote");
}

TEST_CASE("a cell that a spreadsheet would take for a formula gets an apostrophe") {
  for (const char* cell : {"=1+1", "+1", "-5", "@SUM(1)", "\t=1", "\r=1"}) {
    CHECK(harmless(cell) == "'" + std::string(cell));
    CHECK(harmless(harmless(cell)) == harmless(cell));
    CHECK(without_guard(harmless(cell)) == cell);
  }
  for (const char* cell : {"", "Ada", "5", "'", "'s Gravenhage", "a=b"}) {
    CHECK(harmless(cell) == cell);
    CHECK(without_guard(cell) == cell);
  }
}

TEST_CASE("rows know their lines") {
  CHECK(parse_csv("sep=;\na;b\n\n\"two\nlines\";x\n1;2\n").lines == std::vector<std::size_t>{4, 6});
}
