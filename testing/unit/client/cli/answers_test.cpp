// Replies of the XML port, as the terminal client tells them.
#include "client/cli/answers.hpp"

#include "catch.hpp"

using namespace exchange;
using namespace exchange::cli;

namespace {

const NewOrder buy{Side::buy, "SPY", "100", "145.67"}, sell{Side::sell, "SPY", "100", "140"};

OrderState state(const std::string& inner) {
  return read_answers("<results><status id=\"7\">" + inner + "</status></results>", 1)
      .front()
      .order;
}
std::string told(const std::string& inner, const NewOrder* terms) {
  return sentence("7", state(inner), terms);
}
std::string executed(const char* shares, const char* price) {
  return std::string("<executed shares=\"") + shares + "\" price=\"" + price +
         "\" time=\"1700000000\"/>";
}

}  // namespace

TEST_CASE("an order is told by what was executed and what remains") {
  const std::string open = "<open shares=\"60\"/>",
                    canceled = "<canceled shares=\"60\" time=\"1700000001\"/>",
                    some = executed("40", "145.67");
  CHECK(told(open + some, &buy) ==
        "order 7: bought 40 SPY @ 145.67, 60 still open at limit 145.67");
  CHECK(told(open + some, &sell) == "order 7: sold 40 SPY @ 145.67, 60 still open at limit 140");
  CHECK(told(some, &buy) == "order 7: bought 40 SPY @ 145.67");
  CHECK(told(open, &buy) == "order 7: 60 SPY open, to buy at limit 145.67");
  CHECK(told(open, &sell) == "order 7: 60 SPY open, to sell at limit 140");
  CHECK(told(canceled, &sell) == "order 7: 60 SPY canceled");
  CHECK(told(canceled + some, &buy) == "order 7: bought 40 SPY @ 145.67, 60 canceled");
  CHECK(told(open + some, nullptr) == "order 7: executed 40 @ 145.67, 60 still open");
  CHECK(told(some, nullptr) == "order 7: executed 40 @ 145.67");
  CHECK(told(open, nullptr) == "order 7: 60 open");
  CHECK(told(canceled, nullptr) == "order 7: 60 canceled");
  CHECK(told("", nullptr) == "order 7: nothing open");
}

TEST_CASE("several prices are told with the exact sum") {
  CHECK(told(executed("40", "145.67") + executed("0.5", "145.67"), &buy) ==
        "order 7: bought 40.5 SPY @ 145.67");
  CHECK(told(executed("40", "0.00000003") + executed("60", "0.1"), &buy) ==
        "order 7: bought 100 SPY for 6.0000012 (40 @ 0.00000003, 60 @ 0.1)");
  const std::string many = executed("1", "5") + executed("1", "4") + executed("1", "3.5") +
                           executed("1", "3") + executed("1", "2");
  CHECK(told(many, &sell) == "order 7: sold 5 SPY for 17.5 (@ 2 to 5)");
}

TEST_CASE("executions are listed with their times") {
  ::setenv("TZ", "UTC", 1);
  ::tzset();
  CHECK(execution_lines(
            state("<canceled shares=\"60\" time=\"1700000001\"/>" + executed("40", "145.67"))) ==
        "  2023-11-14 22:13:20  40 @ 145.67\n  2023-11-14 22:13:21  60 canceled\n");
}

TEST_CASE("an error is read with its references resolved, for one element or for all") {
  const auto one = read_answers(
      R"(<results><created id="1"/><error id="2">a &lt;b&gt; &amp; c</error></results>)", 2);
  CHECK(one[0].element == "created");
  CHECK(one[1].element == "error");
  CHECK(one[1].error == "a <b> & c");
  const auto all = read_answers("<results><error>the whole</error></results>\n", 3);
  REQUIRE(all.size() == 3);
  for (const Answer& answer : all) CHECK(answer.error == "the whole");
}

TEST_CASE("an opened order has its id") {
  CHECK(read_answers(R"(<results><opened sym="S" amount="1" limit="1" id="12"/></results>)", 1)
            .front()
            .id == "12");
}

TEST_CASE("a server's words do not steer the terminal") {
  CHECK(read_answers("<results><error>a\x1b[2Jb\nc\xC2\x9B"
                     "d</error></results>",
                     1)
            .front()
            .error == "a?[2Jb c?d");
  CHECK(read_answers("<results><error>a&#x9b;b</error></results>", 1).front().error == "a?b");
}

TEST_CASE("what no exchange says is not understood") {
  for (
      const char* document :
      {"<results/>", "<results><created/><created/></results>", "<results><hello/></results>",
       "<results><opened sym=\"S\"/></results>", "<oops/>",
       "<results><status id=\"1\"><open shares=\"x\"/></status></results>",
       "<results><status id=\"1\"><open/></status></results>",
       "<results><status id=\"1\"><open shares=\"-1\"/></status></results>",
       "<results><status id=\"1\"><bid/></status></results>",
       "<results><status id=\"1\"><executed shares=\"1\" price=\"1\" time=\"soon\"/></status></results>",
       "<results><status id=\"1\"><executed shares=\"92233720367\" price=\"1\" time=\"1\"/><executed shares=\"92233720367\" price=\"1\" time=\"1\"/></status></results>"}) {
    INFO(document);
    CHECK_THROWS_AS(read_answers(document, 1), NotUnderstood);
  }
}
