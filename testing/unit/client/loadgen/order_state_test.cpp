// What replies tell of an order, read exactly.
#include "client/loadgen/audit/order_state.hpp"

#include <string>
#include <vector>

#include "catch.hpp"

using namespace exchange;
using namespace exchange::loadgen;

namespace {

constexpr std::int64_t seconds = 1'700'000'000;

struct Read {
  OrderState state;
  std::string problem;
};

Read read(const std::string& content) {
  const std::string document = "<results><status id=\"12\">" + content + "</status></results>\n";
  ReplyElements elements(document);
  ReplyElement element;
  REQUIRE(elements.next(element));
  Read read;
  read.state.executions.resize(3);  // of an order read before
  read.problem = parse_order_state(element, read.state);
  return read;
}

}  // namespace

TEST_CASE("open, canceled and executed orders are read to the last decimal") {
  const Read open = read(
      "<open shares=\"3\"/><executed shares=\"0.00000001\" price=\"99.5\" time=\"1700000000\"/>");
  CHECK(open.problem == "");
  CHECK((open.state == OrderState{.open = Shares::whole(3),
                                  .executions = {{Shares::from_units(1),
                                                  Price::from_units(9'950'000'000), seconds}}}));
  const Read canceled = read("\n  <canceled time='1700000000' shares='92233720367.99999999' />\n");
  CHECK(canceled.problem == "");
  CHECK((canceled.state == OrderState{.canceled = Shares::from_units(9'223'372'036'799'999'999),
                                      .canceled_time = seconds}));
  const Read executed = read(
      "<executed shares=\"2\" price=\"1\" time=\"1700000000\"/><executed shares=\"1\" price=\"2\" time=\"1700000001\"></executed>");
  CHECK(executed.problem == "");
  CHECK((executed.state.executions ==
         std::vector<OrderState::Execution>{{Shares::whole(2), Price::whole(1), seconds},
                                            {Shares::whole(1), Price::whole(2), seconds + 1}}));
  CHECK(read("").problem == "");
}

TEST_CASE("content that is no state of an order is told from one that is") {
  for (const char* content :
       {"<open/>", "<open shares=\"0\"/>", "<open shares=\"-1\"/>", "<open shares=\"1e3\"/>",
        "<canceled shares=\"1\"/>", "<canceled shares=\"1\" time=\"soon\"/>",
        "<open shares=\"1\"/><canceled shares=\"1\" time=\"1\"/>",
        "<executed shares=\"1\" price=\"1\" time=\"1\"/><open shares=\"1\"/>",
        "<executed shares=\"1\" price=\"0\" time=\"1\"/>", "<executed shares=\"1\" time=\"1\"/>",
        "<executed shares=\"0.000000001\" price=\"1\" time=\"1\"/>", "<closed/>", "text",
        "<open shares=\"1\"/>text"})
    CHECK(read(content).problem != "");
}

TEST_CASE("a digest tells whole shares, and other executions or another order of them") {
  const std::string first = "<executed shares=\"2\" price=\"1\" time=\"1700000000\"/>",
                    second = "<executed shares=\"1\" price=\"2.5\" time=\"1700000000\"/>";
  const auto digest = [](const std::string& content) { return digest_of(read(content).state); };
  const auto both = digest("<canceled shares=\"4\" time=\"1700000000\"/>" + first + second);
  REQUIRE(both);
  CHECK(both->open == 0);
  CHECK(both->canceled == 4);
  CHECK(both->canceled_time == seconds);
  CHECK(both->executed == 3);
  CHECK(both->executions == 2);
  CHECK(both->fingerprint == digest(first + second)->fingerprint);
  CHECK(both->fingerprint != digest(second + first)->fingerprint);
  CHECK(digest(first)->fingerprint != digest(second)->fingerprint);
  CHECK(digest("")->fingerprint == 0);

  CHECK(!digest("<open shares=\"0.5\"/>"));
  CHECK(!digest("<executed shares=\"1.5\" price=\"1\" time=\"1\"/>"));
  CHECK(!digest("<open shares=\"3000000000\"/>"));
}
