// The parts of the core: committer, projector and spare pages.
#include "core/committer.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <semaphore>
#include <thread>

#include "catch.hpp"
#include "core/projector.hpp"
#include "core/spare_pages.hpp"
#include "support/clocks.hpp"
#include "support/faulty_store.hpp"
#include "support/stores.hpp"
#include "support/wait_for.hpp"

using namespace exchange;
using namespace exchange::testing;
using std::chrono::milliseconds;
using Fault = FaultyStore::Fault;

namespace {

struct PartsFixture {
  PartsFixture() { store.open(); }

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

const OnFatal fail = [](const std::string& error) { throw std::logic_error(error); };

bool is_resident(char* page) {
  std::vector<unsigned char> resident(huge_page / 4'096);
  REQUIRE(mincore(page, huge_page, resident.data()) == 0);
  return std::all_of(resident.begin(), resident.end(), [](unsigned char one) { return one & 1; });
}

}  // namespace

TEST_CASE_METHOD(PartsFixture, "a batch is one journal row with the commands that changed state") {
  const auto outcomes =
      commit({create, create, QueryOrder{account, 1}, CreateSymbol{SymbolName("SPY")}});
  CHECK(outcomes == std::vector<Outcome>{Created{}, Rejected{Reason::account_exists},
                                         Rejected{Reason::unknown_order}, Created{}});
  REQUIRE(journal_rows() == 1);
  CHECK(decode_journal_record(journal_after(store, 0)[0].payload).commands.size() == 2);
}

TEST_CASE_METHOD(PartsFixture, "the cancels of a connection that ends read no closed order") {
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

TEST_CASE_METHOD(PartsFixture, "a batch that changes nothing writes nothing") {
  commit({QueryOrder{account, 1}});
  CHECK(store.appends == 0);
  CHECK(committer.last_batch() == 0);
}

TEST_CASE_METHOD(PartsFixture,
                 "an append that was lost is asked for by its number, then made again") {
  FaultyStore::plan(store.append_faults, {Fault::lost, Fault::lost});
  commit({create});
  CHECK(store.appends == 3);
  CHECK(store.resolves == 2);
  CHECK(journal_rows() == 1);
  CHECK(recover(store).exchange.balance(account) == Cash::whole(100));
}

TEST_CASE_METHOD(PartsFixture,
                 "an append that was committed, though it reported failure, is not made again") {
  FaultyStore::plan(store.append_faults, {Fault::committed_but_lost});
  commit({create});
  CHECK(store.appends == 1);
  CHECK(store.resolves == 1);
  CHECK(journal_rows() == 1);
  CHECK(committer.last_batch() == 1);
}

TEST_CASE_METHOD(PartsFixture,
                 "while the store is unavailable nothing returns, and the metric shows it") {
  FaultyStore::plan(store.append_faults, {Fault::lost, Fault::committed_but_lost});
  FaultyStore::plan(store.resolve_faults, {Fault::lost, Fault::lost, Fault::none, Fault::lost});
  commit({create});
  CHECK(committer.health()->store_available());
  CHECK(metrics.store_failures == 5);
  CHECK(journal_rows() == 1);
  CHECK(clock.time_us == 1'000'000'000 + 4 * 100'000);  // the first retry comes at once
}

TEST_CASE_METHOD(PartsFixture, "time never goes back, though the clock does") {
  commit({create});
  clock.time_us = 5;
  commit({CreateSymbol{SymbolName("SPY")}});
  CHECK(committer.exchange().totals().last_time == Timestamp{1'000'000'000});
  CHECK(recover(store).exchange.totals() == committer.exchange().totals());
}

TEST_CASE_METHOD(PartsFixture,
                 "a clock behind the journal is reported once, until it has caught up") {
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
    PartsFixture,
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

TEST_CASE("the progress of a hand-over is what part of its rows is written") {
  FaultyStore store;
  store.open();
  ManualClock clock;
  CoreLimits limits;
  limits.projection_interval_ms = 60'000;
  Metrics metrics;
  Health health;
  std::binary_semaphore idle(0);
  Projector projector(
      store, store, clock, limits, metrics, health, {}, [&] { idle.release(); }, fail);
  CHECK(projector.progress() == 1);

  store.hold_projections.begin();
  Rows rows;
  rows.executions.resize(20'000);
  projector.offer(rows, 1, 0);
  CHECK(projector.progress() == 0);
  store.hold_projections.end();
  while (projector.progress() < 1) std::this_thread::yield();
  CHECK_FALSE(projector.idle());  // but in the pause that follows
  projector.hurry();
  idle.acquire();
  CHECK(projector.progress() == 1);
}

TEST_CASE("pages are made ready from the first one taken on, and again for each one taken") {
  SparePages spare(2, fail);
  std::this_thread::sleep_for(milliseconds(20));
  CHECK_FALSE(spare.take_page());
  std::vector<MappedPages> taken;
  while (taken.size() < 4) {
    MappedPages page;
    REQUIRE(wait_for([&] { return bool(page = spare.take_page()); }));
    taken.push_back(std::move(page));
  }
  for (const MappedPages& page : taken) {
    REQUIRE(page);
    CHECK(std::uintptr_t(page.get()) % huge_page == 0);
    CHECK(is_resident(page.get()));
    CHECK(std::count(taken.begin(), taken.end(), page) == 1);
  }
}

TEST_CASE("two threads take different pages") {
  SparePages spare(3, fail);
  std::vector<MappedPages> taken[2];
  std::thread threads[2];
  for (int i = 0; i < 2; ++i)
    threads[i] = std::thread([&, i] {
      wait_for([&] {
        if (MappedPages page = spare.take_page()) taken[i].push_back(std::move(page));
        return taken[i].size() == 20;
      });
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(taken[0].size() == 20);
  CHECK(taken[1].size() == 20);
  for (const MappedPages& page : taken[0])
    CHECK(std::count(taken[1].begin(), taken[1].end(), page) == 0);
}
