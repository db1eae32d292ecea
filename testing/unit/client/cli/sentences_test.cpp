// The state of an order, in sentences.
#include "client/cli/sentences.hpp"

#include "catch.hpp"
#include "client/connection/results.hpp"

using namespace exchange;
using namespace exchange::cli;

namespace {

const NewOrder buy{Side::buy, "SPY", "100", "145.67"}, sell{Side::sell, "SPY", "100", "140"};

Status state(const std::string& inner) {
  const std::string document = "<results><status id=\"7\">" + inner + "</status></results>";
  return std::get<Status>(client::read_outcomes(document, 1).front());
}
std::string shown(const std::string& inner, const NewOrder* terms) {
  return sentence("7", state(inner), terms);
}
std::string executed(const char* shares, const char* price) {
  return std::string("<executed shares=\"") + shares + "\" price=\"" + price +
         "\" time=\"1700000000\"/>";
}

}  // namespace

TEST_CASE("an order is described by what was executed and what remains") {
  const std::string open = "<open shares=\"60\"/>",
                    canceled = "<canceled shares=\"60\" time=\"1700000001\"/>",
                    some = executed("40", "145.67");
  CHECK(shown(open + some, &buy) ==
        "order 7: bought 40 SPY @ 145.67, 60 still open at limit 145.67");
  CHECK(shown(open + some, &sell) == "order 7: sold 40 SPY @ 145.67, 60 still open at limit 140");
  CHECK(shown(some, &buy) == "order 7: bought 40 SPY @ 145.67");
  CHECK(shown(open, &buy) == "order 7: 60 SPY open, to buy at limit 145.67");
  CHECK(shown(open, &sell) == "order 7: 60 SPY open, to sell at limit 140");
  CHECK(shown(canceled, &sell) == "order 7: 60 SPY canceled");
  CHECK(shown(canceled + some, &buy) == "order 7: bought 40 SPY @ 145.67, 60 canceled");
  CHECK(shown(open + some, nullptr) == "order 7: executed 40 @ 145.67, 60 still open");
  CHECK(shown(some, nullptr) == "order 7: executed 40 @ 145.67");
  CHECK(shown(open, nullptr) == "order 7: 60 open");
  CHECK(shown(canceled, nullptr) == "order 7: 60 canceled");
  CHECK(shown("", nullptr) == "order 7: nothing open");
}

TEST_CASE("an order whose symbol is not known is described without it") {
  const NewOrder replaced{Side::sell, "", "100", "140"};
  const std::string open = "<open shares=\"60\"/>", some = executed("40", "145.67");
  CHECK(shown(open, &replaced) == "order 7: 60 open, to sell at limit 140");
  CHECK(shown(open + some, &replaced) == "order 7: sold 40 @ 145.67, 60 still open at limit 140");
  CHECK(shown("<canceled shares=\"60\" time=\"1700000001\"/>", &replaced) ==
        "order 7: 60 canceled");
}

TEST_CASE("several prices are shown with the exact sum") {
  CHECK(shown(executed("40", "145.67") + executed("0.5", "145.67"), &buy) ==
        "order 7: bought 40.5 SPY @ 145.67");
  CHECK(shown(executed("40", "0.00000003") + executed("60", "0.1"), &buy) ==
        "order 7: bought 100 SPY for 6.0000012 (40 @ 0.00000003, 60 @ 0.1)");
  const std::string many = executed("1", "5") + executed("1", "4") + executed("1", "3.5") +
                           executed("1", "3") + executed("1", "2");
  CHECK(shown(many, &sell) == "order 7: sold 5 SPY for 17.5 (@ 2 to 5)");
}

TEST_CASE("a change of an account is described by what it has now") {
  CHECK(sentence(AccountChange{"7", {{"role", "operator"}}}) == "account 7: role operator");
  CHECK(sentence(AccountChange{"7", {{"access", "frozen"}, {"cancel-orders", "true"}}}) ==
        "account 7: frozen, open orders canceled");
  CHECK(sentence(AccountChange{"7", {{"access", "active"}}}) == "account 7: active");
  CHECK(sentence(AccountChange{"7", {{"orders-max", "10"}, {"position-max", "0.0"}}}) ==
        "account 7: orders max 10, no position max");
  CHECK(sentence(Adjustment{"7", {}, "100", "gift"}) == "account 7: 100 cash given");
  CHECK(sentence(Adjustment{"7", "SPY", "-0.5", "fine"}) == "account 7: 0.5 shares of SPY taken");
}

TEST_CASE("executions are listed with their times") {
  ::setenv("TZ", "UTC", 1);
  ::tzset();
  CHECK(execution_lines(
            state("<canceled shares=\"60\" time=\"1700000001\"/>" + executed("40", "145.67"))) ==
        "  2023-11-14 22:13:20  40 @ 145.67\n  2023-11-14 22:13:21  60 canceled\n");
}
