// A standby server follows the journal of an active one, and takes over with the same state.

#include "core/standby.hpp"
#include "contract/places.hpp"
#include "model/random_commands.hpp"
#include "support/clocks.hpp"
#include "support/stores.hpp"
#include "support/wait_for.hpp"

using namespace exchange;
using namespace exchange::testing;

namespace {

const AccountId buyer = RandomCommands::account(0), seller = RandomCommands::account(1);
const SymbolName symbol = RandomCommands::symbol(0);

Command order(Side side, std::int64_t shares, std::int64_t limit) {
  return PlaceOrder{side == Side::buy ? buyer : seller, symbol, side, Shares::whole(shares),
                    Price::whole(limit)};
}

// PostgreSQL releases the lock of an active server a moment after its connection was closed.
bool takes_over(Standby& standby, Clock& clock) {
  bool active = false;
  return wait_for([&] {
    clock.pause(50);
    return active = active || standby.follow();
  });
}

// An active server without threads, and the standby that follows it.
struct Pair {
  std::string url = shared_cluster().create_database();
  std::optional<PostgresStore> active{url};
  Exchange exchange;
  BatchNumber last_batch = 0;
  PostgresStore store{url};
  ManualClock clock;
  CoreLimits limits;
  Metrics metrics;
  std::vector<BatchNumber> handed_out;
  std::function<void()> before_take_over;

  Pair() {
    active->open();
    active->tables().load();
    commit({CreateAccount{buyer, Cash::whole(10'000)}, CreateAccount{seller, Cash::whole(0)},
            PlaceShares{symbol, seller, Shares::whole(100)}});
  }
  void commit(const std::vector<Command>& commands) {
    testing::commit(*active, exchange, ++last_batch, commands);
  }
  void project() { testing::project(*active, exchange, last_batch); }
  Standby start() {
    store.attach();
    store.journal().keep_from(store.tables().projected_batch());
    return {recover(store), store, clock, limits, metrics, [this](const Rows&, BatchNumber batch) {
              handed_out.push_back(batch);
              if (before_take_over) before_take_over();
            }};
  }
  // Runs one turn of the standby, after the time at which it hands out changes.
  void follow(Standby& standby) {
    clock.pause(limits.projection_interval_ms);
    CHECK_FALSE(standby.follow());
  }
  Recovered take_over(Standby& standby) {
    active.reset();
    REQUIRE(takes_over(standby, clock));
    return standby.take();
  }
};

}  // namespace

TEST_CASE("a standby server follows the active one, and takes over with its state") {
  Pair pair;
  pair.project();
  Standby standby = pair.start();
  pair.follow(standby);
  pair.commit({order(Side::buy, 10, 5)});
  pair.follow(standby);
  pair.commit({order(Side::sell, 4, 5), order(Side::sell, 20, 7)});
  CHECK_FALSE(standby.follow());
  CHECK(standby.last_batch() == pair.last_batch);
  CHECK(pair.handed_out == std::vector<BatchNumber>{2});
  const BatchNumber projected = GENERATE(0, 1, 2);  // of the last two batches
  if (projected > 0) pair.project();
  if (projected == 2) pair.follow(standby);
  pair.commit({CancelOrder{buyer, 1}});

  Recovered recovered = pair.take_over(standby);
  CHECK(recovered.last_batch == 4);
  CHECK(state_of(recovered.exchange) == state_of(pair.exchange));
  CHECK(recovered.exchange.check_invariants().empty());
  // Its tables end up the same as those of a server that ran all the time.
  testing::project(pair.store, recovered.exchange, recovered.last_batch);
  testing::commit(pair.store, recovered.exchange, 5, {order(Side::buy, 1, 7)});
  testing::project(pair.store, recovered.exchange, 5);
  const auto rows = [&](const std::string& table) {
    return run_postgres(pair.url, "SELECT count(*) FROM " + table)[0][0].as<int>();
  };
  CHECK(rows("orders") == 4);
  CHECK(rows("executions") == 2);
  CHECK(state_of(Exchange(pair.store.tables().load().rows)) == state_of(recovered.exchange));
  CHECK(pair.store.tables().read_order(1)->row.canceled == Shares::whole(6));
}

TEST_CASE("what the active server commits last is not lost to its successor") {
  Pair pair;
  Standby standby = pair.start();
  pair.commit({order(Side::buy, 1, 1)});
  // Runs after the standby has read the journal, and before it tries to take over.
  pair.before_take_over = [&] {
    if (!pair.active) return;
    pair.commit({order(Side::buy, 2, 2)});
    pair.active->end_lease();
    pair.active.reset();
    // The standby may take over in the current turn, and so without another read.
    CHECK(wait_for([&] { return pair.store.active_server() == ActiveServer::ended; }));
  };
  pair.clock.pause(pair.limits.projection_interval_ms);
  REQUIRE(standby.follow());
  Recovered recovered = standby.take();
  CHECK(recovered.last_batch == 3);
  CHECK(state_of(recovered.exchange) == state_of(pair.exchange));
}

TEST_CASE("a standby server does not take over while the active one lives") {
  Pair pair;
  Standby standby = pair.start();
  for (int turn = 0; turn < 3; ++turn) pair.follow(standby);
  pair.commit({order(Side::buy, 1, 1)});
  // Even so, a second server that is not a standby refuses to start: standby servers do not hold
  // the active server's lock.
  CHECK_FALSE(PostgresStore(pair.url).try_open());
}

TEST_CASE("the journal that a standby server needs is not pruned") {
  Pair pair;
  Standby standby = pair.start();
  for (int batch = 0; batch < 3'000; ++batch) pair.commit({order(Side::buy, 1, 1)});
  pair.project();
  const auto rows = [&] { return journal_after(*pair.active, 0).size(); };
  prune(*pair.active, pair.last_batch - 1);
  CHECK(rows() == pair.last_batch);
  pair.follow(standby);
  prune(*pair.active, pair.last_batch - 1);
  CHECK(rows() < 2'000);
  pair.follow(standby);
  CHECK(standby.last_batch() == pair.last_batch);
  SECTION("once it is gone, it is") {
    run_postgres(
        pair.url,
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_locks"
        " WHERE locktype = 'advisory' AND objsubid = 2"
        " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())");
    prune(*pair.active, pair.last_batch - 1);
    CHECK(rows() == 1);
  }
}

TEST_CASE("a standby server that cannot follow any more says so") {
  Pair pair;
  Standby standby = pair.start();
  pair.commit({order(Side::buy, 1, 1)});
  pair.follow(standby);
  const auto run = [&](const std::string& sql) { run_postgres(pair.url, sql); };
  SECTION("its newest batch was pruned") {
    pair.commit({order(Side::buy, 1, 1)});
    run("DELETE FROM journal WHERE batch <= 2");
  }
  SECTION("its newest batch was lost in a failover") { run("DELETE FROM journal WHERE batch = 2"); }
  SECTION("and another took its place") {
    run("DELETE FROM journal WHERE batch = 2");
    pair.exchange = recover(*pair.active).exchange;
    run("DELETE FROM journal WHERE batch = 2");
    pair.last_batch = 1;
    pair.commit({order(Side::buy, 2, 2)});
  }
  SECTION("its newest projection was lost in a failover") {
    pair.project();
    pair.follow(standby);
    run("UPDATE projection SET batch = 1");
  }
  pair.clock.pause(pair.limits.projection_interval_ms);
  CHECK_THROWS_WITH(standby.follow(), contains_text("start it again"));
}

TEST_CASE("an active server that lost its connection alone has time to connect again") {
  Pair pair;
  Standby standby = pair.start();
  pair.follow(standby);
  pair.clock.pause(50);
  SECTION("a moment") {
    const auto locks = [&] {
      return run_postgres(
                 pair.url,
                 "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1"
                 " AND database = (SELECT oid FROM pg_database WHERE datname ="
                 " current_database())")[0][0]
          .as<int>();
    };
    run_postgres(pair.url,
                 "SELECT pg_terminate_backend(pid, 5000) FROM pg_locks"
                 " WHERE locktype = 'advisory' AND objsubid = 1 AND database = (SELECT oid"
                 " FROM pg_database WHERE datname = current_database())");
    REQUIRE(locks() == 0);
    CHECK_FALSE(standby.follow());
    pair.clock.pause(100);
    CHECK_FALSE(standby.follow());
    CHECK_THROWS_AS(pair.active->journal().append(2, "payload"), StoreUnavailable);
    CHECK_FALSE(pair.active->journal().resolve_in_doubt(2));
    for (int turn = 0; turn < 10; ++turn) pair.follow(standby);
  }
  SECTION("but none if it said that it ends") {
    pair.active->end_lease();
    CHECK(standby.follow());
  }
}

TEST_CASE("a server that took over prunes its journal") {
  Pair pair;
  Standby standby = pair.start();
  pair.commit({order(Side::buy, 1, 1)});
  pair.follow(standby);
  Recovered recovered = pair.take_over(standby);
  testing::project(pair.store, recovered.exchange, 2);
  prune(pair.store, 1);
  CHECK(journal_after(pair.store, 0).size() == 1);
}

TEST_CASE("a standby server waits for a database that went away") {
  PostgresCluster& cluster = shared_cluster();
  const std::string url = cluster.create_database();
  std::optional<PostgresStore> active(url);
  active->open();
  PostgresStore store(url);
  store.attach();
  ManualClock clock;
  CoreLimits limits;
  Metrics metrics;
  Standby standby(recover(store), store, clock, limits, metrics, {});
  cluster.kill();
  CHECK_THROWS_AS(standby.follow(), StoreUnavailable);
  active.reset();
  cluster.start();
  // The active server lost its connection too, and may connect again.
  CHECK_FALSE(standby.follow());
  clock.pause(4'900);
  CHECK_FALSE(standby.follow());
  CHECK(takes_over(standby, clock));
}

TEST_CASE("a standby server may come before the first active one") {
  PostgresStore store(shared_cluster().create_database());
  store.attach();
  CHECK(recover(store).last_batch == 0);
  CHECK(store.status().epoch == 0);
}

TEST_CASE("only PostgreSQL allows standby servers") {
  CHECK_FALSE(MemoryStore().allows_standby());
  CHECK_FALSE(SqliteStore("x.db").allows_standby());
}
