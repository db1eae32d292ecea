// The record that a run keeps of replaces and of cancels of all orders.
#include "client/loadgen/recorder.hpp"

#include <string>
#include <vector>

#include "catch.hpp"

using namespace exchange;
using namespace exchange::loadgen;

namespace {

using Kind = loadgen::Action::Kind;

const loadgen::Action order{.kind = Kind::order, .symbol = 2, .amount = -7, .limit_cents = 99'50};
loadgen::Action replace_of(std::uint64_t id) {
  return {.kind = Kind::replace, .symbol = 2, .amount = -9, .limit_cents = 98'00, .id = id};
}

// Records a reply of one element for each action; an id of 0 is a refused order.
void record(Recorder& recorder, const std::vector<loadgen::Action>& actions,
            std::vector<std::uint64_t> opened) {
  recorder.begin_reply();
  Deviations deviations;
  for (std::size_t i = 0; i < actions.size(); ++i) {
    CheckedElement element{.action = i};
    if (actions[i].kind == Kind::order) {
      element.opened = opened.front();
      element.rejected = element.opened == 0;
      opened.erase(opened.begin());
    }
    REQUIRE(recorder.record({.client = 3, .account = 4, .sent = 50, .answered = 60}, actions[i],
                            element, deviations) == "");
  }
}

// "1 after 12.1": order 1 was replaced after order 12, by element 1 of the request.
std::string places(const History& history) {
  std::string text;
  for (const ReplaceRecord& replace : history.replaces)
    text += std::to_string(replace.id) +
            (replace.place.side == Place::Side::before ? " before " : " after ") +
            std::to_string(replace.place.id) + "." + std::to_string(replace.place.element) + "; ";
  return text;
}

}  // namespace

TEST_CASE("a replace is placed by the last order that its request opened before it, or the first") {
  Recorder recorder;
  record(recorder, {order, replace_of(1)}, {12});
  record(recorder, {replace_of(2), order, replace_of(3), order, replace_of(4)}, {13, 14});
  record(recorder, {order, replace_of(5), order}, {0, 15});
  record(recorder, {order, replace_of(6)}, {0});
  record(recorder, {order}, {16});
  CHECK(places(recorder.history()) ==
        "1 after 12.1; 2 before 13.0; 3 after 13.2; 4 after 14.4; 5 before 15.1; 6 after 0.1; ");
  const ReplaceRecord& first = recorder.history().replaces.front();
  CHECK(first.amount == -9);
  CHECK(first.limit_cents == 98'00);
  CHECK(first.sent_ns == 50);
  CHECK(first.answered_ns == 60);
}

TEST_CASE("a cancel of all is recorded with what it canceled, each with its state") {
  Recorder recorder;
  Deviations deviations;
  const auto take = [&](const std::string& document, std::uint16_t symbol) {
    recorder.begin_reply();
    client::ReplyElements elements(document);
    for (client::ReplyElement element; elements.next(element);)
      REQUIRE(recorder.record({.client = 3, .account = 4, .sent = 50, .answered = 60},
                              {.kind = Kind::cancel_all, .symbol = symbol},
                              {.element = element, .rejected = element.name == "error"},
                              deviations) == "");
  };
  take(
      "<results><canceled id=\"7\"><canceled shares=\"3\" time=\"5\"/></canceled>"
      "<canceled id=\"8\">"
      "<canceled shares=\"4\" time=\"5\"/>"
      "<executed shares=\"1\" price=\"99.5\" time=\"4\"/></canceled>"
      "</results>",
      0);
  take("<results><error sym=\"SYM2\">no open orders</error></results>", 2);
  take("<results><error>the reply would be too long; ask again</error></results>", 0);
  const History& history = recorder.history();
  REQUIRE(history.cancels_of_all.size() == 2);
  const CancelAllRecord &canceled = history.cancels_of_all[0], &refused = history.cancels_of_all[1];
  CHECK(canceled.account == 4);
  CHECK(canceled.symbol == 0);
  CHECK(canceled.sent_ns == 50);
  CHECK(canceled.answered_ns == 60);
  CHECK(canceled.canceled == std::vector<std::uint64_t>{7, 8});
  CHECK(canceled.executions == 1);
  CHECK(!canceled.place.known());
  CHECK(refused.symbol == 2);
  CHECK(refused.canceled.empty());
  REQUIRE(history.observations.size() == 2);
  CHECK(history.observations[1].kind == Observation::Kind::canceled);
  CHECK(history.observations[1].id == 8);
  CHECK(history.observations[1].digest.canceled == 4);
  CHECK(history.observations[1].digest.executed == 1);
}
