// The model against NaiveExchange, which keeps no index and no versions.
#include "history/versioned_exchange.hpp"

#include "catch.hpp"
#include "model/naive_exchange.hpp"
#include "model/random_commands.hpp"

using namespace exchange;
using namespace exchange::history;

namespace {

// What outcome() says of a command that would be accepted.
Outcome foreseen(const Outcome& outcome) {
  if (std::holds_alternative<Opened>(outcome)) return Opened{0};
  if (std::holds_alternative<Canceled>(outcome)) return Canceled{};
  return outcome;
}

}  // namespace

TEST_CASE(
    "the model answers as the naive one, and later still says what each command was answered then") {
  for (const bool extreme : {false, true}) {
    NaiveExchange naive;
    VersionedExchange model;
    RandomCommands random(test_seed(), extreme, true);
    struct Answered {
      Command command;
      Version version;
      Outcome outcome;
    };
    std::vector<Answered> answered;
    INFO("--seed " << test_seed() << " extreme " << extreme);
    for (int i = 0; i < 1'500; ++i) {
      const Command command = random.next(naive.orders());
      const Timestamp now = random.next_time();
      const Outcome outcome = naive.apply(command, now);
      answered.push_back({command, model.version(), foreseen(outcome)});
      REQUIRE(model.outcome(command, model.version()) == foreseen(outcome));
      if (changed_state(outcome)) REQUIRE(model.apply(command, now) == outcome);
    }
    CHECK(model.orders() == naive.orders());
    for (const Answered& one : answered)
      REQUIRE(model.outcome(one.command, one.version) == one.outcome);
    // Between two changes that next_change names, nothing changes.
    for (std::size_t i = 0; i < answered.size(); i += 10) {
      Outcome before = model.outcome(answered[i].command, 0);
      for (Version version = 1, next = model.next_change(answered[i].command, 0);
           version <= model.version(); ++version) {
        const Outcome now = model.outcome(answered[i].command, version);
        if (version == next)
          next = model.next_change(answered[i].command, version);
        else
          REQUIRE(now == before);
        before = now;
      }
    }
  }
}
