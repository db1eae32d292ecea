// Scenarios of a class that the exchange would refuse.
#include "client/cli/scenario_check.hpp"

#include "catch.hpp"
#include "client/cli/command.hpp"

using namespace exchange::cli;
using exchange::classroom::parse_scenario;

namespace {

// `start` and `rules`: lines of [student] and [[instrument]].
std::string error(const std::string& start, const std::string& rules, std::size_t students = 2,
                  const std::string& first = "") {
  const std::string text = first + "[student]\n" + start + "\n[[instrument]]\nsymbol = \"ABC\"\n" +
                           rules + "\n[[bots]]\ncharacter = \"bear\"\ncount = 3\n";
  try {
    check_scenario(parse_scenario(text, "s"), students, "s");
    return "";
  } catch (const UsageError& error) {
    return error.what();
  }
}

}  // namespace

TEST_CASE("a scenario is executed before its class is made") {
  CHECK(error("cash = 5\nshares = { ABC = 1 }\norders-max = 3", "tick = 0.05\nlot = 2") == "");
  CHECK(error("cash = '1e5'", "") == "s, [student]: balance is not a plain decimal number");
  CHECK(error("shares = { ABC = -1 }", "") == "s, [student]: number of shares is negative");
  CHECK(error("orders-max = 'x'", "") == "s, [student]: orders-max must be a whole number from 1");
  CHECK(error("", "lot = 'x'") == "s, [[instrument]] ABC: lot is not a plain decimal number");
  CHECK(error("", "price-min = 9\nprice-max = 5\nprice = 6") ==
        "s, [[instrument]] ABC: the lowest price would be above the highest");
  // Together they have more shares than a symbol can.
  CHECK(error("shares = { ABC = 50_000_000_000 }", "", 1) == "");
  CHECK(error("shares = { ABC = 50_000_000_000 }", "", 2) ==
        "s, [student]: shares of this symbol would overflow");
  CHECK(error("shares = { ABC = 50_000_000 }", "", 1'844) == "");
  CHECK(error("shares = { ABC = 50_000_000 }", "", 1'845) ==
        "s, [student]: shares of this symbol would overflow");
}

TEST_CASE("bots must be able to begin at the price of an instrument") {
  CHECK(error("", "price = 10.05\ntick = 0.05\nlot = 5\norder-max = 10") == "");
  CHECK(error("", "price = 10.03\ntick = 0.05") ==
        "s, [[instrument]] ABC: 'price' is 10.03, but the limit is not a multiple of the tick");
  CHECK(error("", "price = 10\nprice-max = 5") ==
        "s, [[instrument]] ABC: 'price' is 10, but the limit is above the highest price");
  CHECK(error("", "price = 10\nprice-min = 11") ==
        "s, [[instrument]] ABC: 'price' is 10, but the limit is below the lowest price");
  CHECK(error("", "price = 1_000_000\nlot = 1_000_000_000") == "");  // that needs only money
}

TEST_CASE("the timetable is read, and names instruments of the scenario") {
  CHECK(error("", "", 2, "timetable = \"09:00 open ABC\"\n") == "");
  CHECK_THAT(error("", "", 2, "timetable = \"9:00 opne\"\n"),
             Catch::Matchers::StartsWith("s, timetable:1: "));
  CHECK(error("", "", 2, "timetable = \"09:00 open now\"\n") ==
        "s, timetable: no [[instrument]] has the symbol 'now', which the step 09:00 open names");
}
