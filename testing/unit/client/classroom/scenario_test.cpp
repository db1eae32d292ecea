// The teacher's scenario.
#include "client/classroom/scenario.hpp"

#include <stdexcept>

#include "catch.hpp"

using namespace exchange::classroom;

namespace {

std::string error(const std::string& text) {
  try {
    parse_scenario(text, "s.toml");
    return "";
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
}

const std::string least = "[student]\n[[instrument]]\nsymbol = \"ABC\"\n";

}  // namespace

TEST_CASE("a scenario has what its file says, and defaults for the rest") {
  const Scenario scenario = parse_scenario(R"(
name = "Autumn"
anonymous = true
first-account = 501
timetable = """
10:00 open
"""
[student]
cash = 100000
shares = { ABC = 100, XYZ = 0.5 }
orders-max = 50
[[instrument]]
symbol = "ABC"
price = 20
tick = 0.05
band = "1"
[[instrument]]
symbol = "XYZ"
[[bots]]
character = "maker"
count = 3
symbol = "XYZ"
cash = 1_000_000
order = 5
pause = 0.5
[[bots]]
character = "bear"
)",
                                           "s.toml");
  CHECK(scenario.name == "Autumn");
  CHECK(scenario.anonymous);
  CHECK(scenario.first_account == 501);
  CHECK(scenario.timetable == "10:00 open\n");
  CHECK(scenario.student.cash == "100000");
  CHECK(scenario.student.shares == Attributes{{"ABC", "100"}, {"XYZ", "0.5"}});
  CHECK(scenario.limits == Attributes{{"orders-max", "50"}});
  REQUIRE(scenario.instruments.size() == 2);
  CHECK(scenario.instruments[0].price == 20);
  CHECK(scenario.instruments[0].rules == Attributes{{"tick", "0.05"}, {"band", "1"}});
  REQUIRE(scenario.bots.size() == 2);
  CHECK(scenario.bots[0].character == CharacterKind::maker);
  CHECK(scenario.bots[0].count == 3);
  CHECK(scenario.bots[0].symbol == "XYZ");
  CHECK(scenario.bots[0].start.cash == "1000000");
  CHECK(scenario.bots[0].shares == 5);
  CHECK(scenario.bots[0].pause_s == 0.5);
  CHECK(scenario.bots[1].count == 1);

  const Scenario plain = parse_scenario(least, "s.toml");
  CHECK(plain.name == "class");
  CHECK_FALSE(plain.anonymous);
  CHECK(plain.bots.empty());
}

TEST_CASE("errors of a scenario have file and line") {
  CHECK(error("[student]\n") == "s.toml: an [[instrument]] is missing: what is to be traded?");
  CHECK(error("[[instrument]]\nsymbol = \"ABC\"\n") ==
        "s.toml:1: '[student]' is missing in the file");
  CHECK(error("[student]\n[[instrument]]\n") == "s.toml:2: 'symbol' is missing in [[instrument]]");
  CHECK(error("[student]\ncsah = 5\n[[instrument]]\nsymbol = \"A\"\n") ==
        "s.toml:2: 'csah' is not known in [student], which may have: cash, orders-max, "
        "orders-per-second-max, position-max, shares");
  CHECK(error(least + "[[bots]]\ncharacter = \"bull\"\n") ==
        "s.toml:5: 'bull' is no character; there are: maker, thin, noise, momentum, informed, "
        "bear, breaker");
  CHECK(error(least + "[[bots]]\ncharacter = \"bear\"\nsymbol = \"B\"\n") ==
        "s.toml: no [[instrument]] has the symbol 'B', which [[bots]] names");
  CHECK(error(least + "[[bots]]\ncharacter = \"bear\"\ncount = 201\n") ==
        "s.toml:6: 'count' must be a whole number from 0 to 200");
  CHECK(error(least + "[[bots]]\ncharacter = \"bear\"\npause = 0\n") ==
        "s.toml:6: 'pause' must be a number above 0");
  CHECK(error("anonymous = 1\n" + least) == "s.toml:1: 'anonymous' must be true or false");
  CHECK(error("[student]\nshares = 5\n[[instrument]]\nsymbol = \"A\"\n") ==
        "s.toml:2: 'shares' must be a table, such as { ABC = 100 }");
  CHECK(error("[instrument]\nsymbol = \"A\"\n[student]\n") ==
        "s.toml:1: write [[instrument]], once for each");
  CHECK(error(least + "[[instrument]]\nsymbol = \"ABC\"\n") ==
        "s.toml:5: there is an [[instrument]] ABC already");
  CHECK(error("[student]\ncash = 1e100\n[[instrument]]\nsymbol = \"A\"\n") ==
        "s.toml:2: 'cash' is too large");
  for (const char* page : {"javascript:alert(1)", "http://", "http:///x", "exchange.example:8080",
                           "http://a b", "http://x/#y", "https://x/\">"}) {
    INFO(page);
    CHECK(error("page = '" + std::string(page) + "'\n" + least) ==
          "s.toml:1: 'page' must be an address, such as \"http://exchange.example:8080\"");
  }
  CHECK(error("page = 'https://exchange.example/x'\n" + least) == "");
  CHECK_THAT(error("name = \n"), Catch::Matchers::StartsWith("s.toml:1: "));
}
