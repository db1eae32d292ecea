// The outcomes of the model at earlier versions; the tests of the engine compare its newest ones.
#include "model/naive_exchange.hpp"

#include "catch.hpp"
#include "model/random_commands.hpp"

using namespace exchange;

namespace {

// outcome() of a command that would be accepted.
Outcome foreseen(const Outcome& outcome) {
  if (std::holds_alternative<Opened>(outcome)) return Opened{0};
  if (std::holds_alternative<Canceled>(outcome)) return Canceled{};
  if (std::holds_alternative<CanceledAll>(outcome)) return CanceledAll{};
  if (std::holds_alternative<Uncrossed>(outcome)) return Created{};
  return outcome;
}

}  // namespace

TEST_CASE("the model gives the outcome that a command had at its version, also later") {
  for (const bool extreme : {false, true}) {
    NaiveExchange model;
    RandomCommands random(test_seed(), extreme, true);
    struct Answered {
      Command command;
      Version version;
      Outcome outcome;
    };
    std::vector<Answered> answered;
    INFO("extreme " << extreme);
    for (int i = 0; i < 1'500; ++i) {
      const Command command = random.next(model.orders());
      const Version version = model.version();
      const Outcome foretold = model.outcome(command, version);
      REQUIRE(foretold == foreseen(model.apply(command, random.next_time())));
      answered.push_back({command, version, foretold});
    }
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
