// The findings of check-history --events in a stream of account events.
#include "history/check.hpp"

#include <sstream>

#include "catch.hpp"

using namespace exchange;
using namespace exchange::history;

namespace {

const AccountId alice("1"), bob("2");
const SymbolName spy("SPY");

std::vector<Batch> journal() {
  std::vector<Batch> batches;
  const auto add = [&](std::vector<Command> commands) {
    Batch& batch = batches.emplace_back();
    batch.number = batches.size();
    batch.record.time = Timestamp{std::int64_t(batch.number)};
    batch.record.commands = std::move(commands);
  };
  add({CreateAccount{alice, Cash::whole(1'000)}, CreateAccount{bob, Cash()},
       PlaceShares{spy, bob, Shares::whole(10)}});
  add({RecordEvents{alice}});
  add({PlaceOrder{alice, spy, Side::buy, Shares::whole(10), Price::whole(5), OrderReference("r")}});
  add({PlaceOrder{bob, spy, Side::sell, Shares::whole(4), Price::whole(4)},
       CancelOrder{.account = alice, .order = 1, .at_disconnect = true}});
  return batches;
}

const std::string began = R"({"number":1,"event":"began","balance":"1000","batch":2,"time_us":2})";
const std::string opened =
    R"({"number":2,"event":"opened","order":1,"ref":"r","symbol":"SPY","side":"buy","shares":"10",)"
    R"("limit":"5","open":"10","balance":"950","position":"0","batch":3,"time_us":3})";
const std::string executed =
    R"({"number":3,"event":"executed","order":1,"ref":"r","symbol":"SPY","side":"buy",)"
    R"("shares":"4","price":"5","open":"6","execution":1,"role":"maker","balance":"950",)"
    R"("position":"4","batch":4,"time_us":4})";
const std::string canceled =
    R"({"number":4,"event":"canceled","order":1,"ref":"r","symbol":"SPY","side":"buy",)"
    R"("shares":"6","limit":"5","open":"0","reason":"disconnect","balance":"980","position":"4",)"
    R"("batch":4,"time_us":4})";

std::string message(const std::string& events) {
  return R"({"type":"events","account":"1","events":[)" + events + "]}\n";
}

EventVerdict judge(const std::string& text) {
  std::istringstream in(text);
  std::vector<StreamEvent> events;
  read_events(in, "s", events);
  return check_events(events, journal());
}

std::string findings(const std::string& text) {
  std::string all;
  for (const Finding& finding : judge(text).findings)
    all += finding.line + ": " + finding.sentence + "\n";
  return all;
}

}  // namespace

TEST_CASE("a stream over several connections is sound, and may begin with any event") {
  const EventVerdict verdict =
      judge(R"({"type":"subscribed","account":"1","from":1,"newest":2})"
            "\n" +
            message(began + "," + opened) + "\n" + message(executed) + message(canceled));
  CHECK(verdict.findings.empty());
  CHECK((verdict.events == 4 && verdict.accounts == 1));
  CHECK(findings(message(executed)) == "");
  CHECK(findings("") == "");
}

TEST_CASE("a stream with a gap, a repeat or a wrong event is impossible") {
  CHECK(findings(message(began) + message(executed)) ==
        "s:2: event 3 of account 1 follows 1: events are missing\n");
  CHECK(findings(message(began) + message(opened) + message(opened)) ==
        "s:3: event 2 of account 1 comes a second time, after 2\n");
  std::string wrong = executed;
  wrong.replace(wrong.find("\"4\",\"price\""), 3, "\"5\"");
  CHECK_THAT(findings(message(wrong)), contains_text("; right is {\"balance\":\"950\","));
  std::string beyond = canceled;
  beyond.replace(beyond.find(":4"), 2, ":5");
  CHECK(findings(message(beyond)) ==
        "s:1: event 5 of account 1 is not in the journal, which leads to 4\n");
}

TEST_CASE("a stream that cannot be read is refused with its line, but for a line cut at its end") {
  CHECK_THROWS_WITH(judge(message(began) + "{\n" + message(opened)), "s:2: is not JSON");
  CHECK_THROWS_WITH(judge("{}\n"), contains_text("s:1: is no message of /ws: "));
  CHECK(judge(message(began) + R"({"type":"eve)").events == 1);
}

TEST_CASE("what the operator does is an event") {
  std::vector<Batch> batches = journal();
  Batch& batch = batches.emplace_back(Batch{5, {.time = Timestamp{5}}});
  batch.record.commands = {
      AdjustCash{.account = alice, .cash = Cash::whole(20)},
      AdjustCash{.account = alice, .takes = true, .cash = Cash::whole(100)},
      AdjustShares{.account = alice, .symbol = spy, .shares = Shares::whole(3)},
      AdjustShares{.account = alice, .symbol = spy, .takes = true, .shares = Shares::whole(1)},
      SetInstrument{.symbol = spy, .trading = Trading::auction},
      PlaceOrder(alice, spy, Side::sell, Shares::whole(5)),
      PlaceOrder(alice, spy, Side::buy, Shares::whole(2), Price::whole(1)),
      SetInstrument{.symbol = spy, .trading = Trading::open},
      PlaceOrder(alice, spy, Side::buy, Shares::whole(1), Price::whole(1)),
      SetAccount{.account = alice, .access = Access::frozen, .cancel_orders = true}};
  const char* const right[] = {
      R"({"event":"cash_received","balance":"1000")",
      R"({"event":"cash_taken","balance":"900")",
      R"({"event":"shares_received","shares":"3","symbol":"SPY","balance":"900","position":"7")",
      R"({"event":"shares_taken","shares":"1","symbol":"SPY","balance":"900","position":"6")",
      R"({"event":"opened","order":3,"symbol":"SPY","side":"sell","shares":"5","limit":null,)"
      R"("open":"5","balance":"900","position":"1")",
      R"({"event":"opened","order":4,"symbol":"SPY","side":"buy","shares":"2","limit":"1",)"
      R"("open":"2","balance":"898","position":"1")",
      R"({"event":"executed","order":3,"symbol":"SPY","side":"sell","shares":"2","price":"1",)"
      R"("open":"3","execution":2,"role":"maker","balance":"900","position":"3")",
      R"({"event":"executed","order":4,"symbol":"SPY","side":"buy","shares":"2","price":"1",)"
      R"("open":"0","execution":2,"role":"taker","balance":"900","position":"3")",
      R"({"event":"canceled","order":3,"symbol":"SPY","side":"sell","shares":"3","limit":null,)"
      R"("open":"0","reason":"immediate","balance":"900","position":"6")",
      R"({"event":"opened","order":5,"symbol":"SPY","side":"buy","shares":"1","limit":"1",)"
      R"("open":"1","balance":"899","position":"6")",
      R"({"event":"canceled","order":5,"symbol":"SPY","side":"buy","shares":"1","limit":"1",)"
      R"("open":"0","reason":"operator","balance":"900","position":"6")"};
  std::string list;
  std::uint64_t number = 5;
  for (const char* event : right)
    list += (number == 5 ? "" : ",") + std::string(event) + R"(,"batch":5,"time_us":5,"number":)" +
            std::to_string(number) + "}",
        ++number;
  std::istringstream in(message(list));
  std::vector<StreamEvent> events;
  read_events(in, "s", events);
  const EventVerdict verdict = check_events(events, batches);
  for (const Finding& finding : verdict.findings) UNSCOPED_INFO(finding.sentence);
  CHECK(verdict.findings.empty());
  CHECK(verdict.events == 11);
}
