#include "catch.hpp"

#include "core/committer.hpp"
#include "support/clocks.hpp"
#include "support/faulty_store.hpp"
#include "support/stores.hpp"

using namespace exchange;
using namespace exchange::testing;
using Fault = FaultyStore::Fault;

namespace {

struct Fixture {
  Fixture() { store.open(); }

  std::vector<Outcome> commit(const std::vector<Command>& commands) {
    Submission submission;
    submission.commands = commands;
    Submission* const one = &submission;
    committer.commit({&one, 1});
    return submission.outcomes;
  }
  std::size_t journal_rows() { return journal_after(store, 0).size(); }

  FaultyStore store;
  ManualClock clock;
  CoreLimits limits;
  Metrics metrics;
  Committer committer{Exchange(), 0, store, clock, limits, metrics};
  const AccountId account{"1"};
  const CreateAccount create{account, Cash::whole(100)};
};

}  // namespace

TEST_CASE_METHOD(Fixture, "a batch is one journal row with the commands that changed state") {
  const auto outcomes =
      commit({create, create, QueryOrder{account, 1}, CreateSymbol{SymbolName("SPY")}});
  CHECK(outcomes == std::vector<Outcome>{Created{}, Rejected{Reason::account_exists},
                                         Rejected{Reason::unknown_order}, Created{}});
  REQUIRE(journal_rows() == 1);
  CHECK(decode_journal_record(journal_after(store, 0)[0].payload).commands.size() == 2);
}

TEST_CASE_METHOD(Fixture, "the cancels of a connection that ends read no closed order") {
  commit({create,
          PlaceOrder{account, SymbolName("S"), Side::buy, Shares::whole(1), Price::whole(1)},
          CancelOrder{account, 1}});
  Rows rows;
  committer.exchange().release_closed(committer.exchange().take_changes(rows));
  CancelOrder cancel{account, 1};
  CHECK(std::holds_alternative<NotInMemory>(commit({cancel}).front()));
  cancel.at_disconnect = true;
  CHECK(commit({cancel}) == std::vector<Outcome>{Rejected{Reason::nothing_open}});
}

TEST_CASE_METHOD(Fixture, "a batch that changes nothing writes nothing") {
  commit({QueryOrder{account, 1}});
  CHECK(store.appends == 0);
  CHECK(committer.last_batch() == 0);
}

TEST_CASE_METHOD(Fixture, "an append that was lost is asked for by its number, then made again") {
  FaultyStore::plan(store.append_faults, {Fault::lost, Fault::lost});
  commit({create});
  CHECK(store.appends == 3);
  CHECK(store.resolves == 2);
  CHECK(journal_rows() == 1);
  CHECK(recover(store).exchange.balance(account) == Cash::whole(100));
}

TEST_CASE_METHOD(Fixture,
                 "an append that was committed, though it reported failure, is not made again") {
  FaultyStore::plan(store.append_faults, {Fault::committed_but_lost});
  commit({create});
  CHECK(store.appends == 1);
  CHECK(store.resolves == 1);
  CHECK(journal_rows() == 1);
  CHECK(committer.last_batch() == 1);
}

TEST_CASE_METHOD(Fixture,
                 "while the store is unavailable nothing returns, and the metric shows it") {
  FaultyStore::plan(store.append_faults, {Fault::lost, Fault::committed_but_lost});
  FaultyStore::plan(store.resolve_faults, {Fault::lost, Fault::lost, Fault::none, Fault::lost});
  commit({create});
  CHECK(committer.health()->store_available());
  CHECK(metrics.store_failures == 5);
  CHECK(journal_rows() == 1);
  CHECK(clock.time_us == 1'000'000'000 + 4 * 100'000);  // the first retry comes at once
}

TEST_CASE_METHOD(Fixture, "time never goes back, though the clock does") {
  commit({create});
  clock.time_us = 5;
  commit({CreateSymbol{SymbolName("SPY")}});
  CHECK(committer.exchange().totals().last_time == Timestamp{1'000'000'000});
  CHECK(recover(store).exchange.totals() == committer.exchange().totals());
}

TEST_CASE_METHOD(Fixture, "a clock behind the journal is reported once, until it has caught up") {
  const auto at = [&](std::int64_t seconds) {
    clock.time_us = seconds * 1'000'000;
    CapturedLog log;
    commit({CreateSymbol{SymbolName("SPY")}});
    return log.text();
  };
  CHECK(at(9'000'000'000).empty());
  CHECK_THAT(at(8'999'999'000), contains_text("the system clock is 1000 s behind"));
  CHECK(metrics.clock_behind_s == 1'000);
  CHECK(at(8'999'999'001).empty());
  CHECK(metrics.clock_behind_s == 999);
  CHECK_THAT(at(9'000'000'000), contains_text("the system clock has caught up"));
  CHECK(metrics.clock_behind_s == 0);
}

TEST_CASE_METHOD(
    Fixture,
    "the replies of a batch hold a bounded number of executions; the rest comes in the next") {
  limits.executions_held_max = 3;
  const AccountId seller{"2"};
  const SymbolName symbol{"S"};
  commit({create, CreateAccount{seller, Cash()}, PlaceShares{symbol, seller, Shares::whole(3)}});
  commit({PlaceOrder{account, symbol, Side::buy, Shares::whole(4), Price::whole(1)}});
  for (int i = 0; i < 3; ++i)
    commit({PlaceOrder{seller, symbol, Side::sell, Shares::whole(1), Price::whole(1)}});

  const std::vector<Command> query = {QueryOrder{account, 1}};
  {
    Submission submissions[3];
    std::vector<Submission*> all;
    for (Submission& one : submissions) {
      one.commands = query;
      all.push_back(&one);
    }
    CHECK(committer.commit(all) == 2);
    CHECK(execution_count(submissions[1].outcomes.at(0)) == 3);
    CHECK(submissions[2].outcomes.empty());
    CHECK(committer.executions_held()->load() == 6);
    submissions[0].forget_outcomes();
    CHECK(submissions[0].outcomes.empty());
    CHECK(committer.executions_held()->load() == 3);
    CHECK(committer.commit(std::span(all).subspan(2)) == 1);
    CHECK(committer.executions_held()->load() == 6);
  }
  CHECK(committer.executions_held()->load() == 0);
}

TEST_CASE("a submission that has had many outcomes keeps no memory of them") {
  Submission batch;
  batch.outcomes.resize(10'000);
  batch.forget_outcomes();
  CHECK(batch.outcomes.capacity() == 0);
}
