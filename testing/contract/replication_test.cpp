// PostgreSQL with synchronous replication: data that was not replicated does not count, the answers
// of a primary that was replaced are not used, and a primary that hangs is abandoned.

#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <future>
#include <thread>

#include "contract/places.hpp"
#include "support/wait_for.hpp"

using namespace exchange;
using namespace exchange::testing;
using namespace std::chrono_literals;

namespace {

// Backends of this database that wait for a standby.
constexpr const char* waiting =
    " FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND datname = current_database()";

// Cancels or terminates the wait for a standby, now or as soon as the wait begins.
void end_wait(const std::string& url, const std::string& how) {
  REQUIRE(
      wait_for([&] { return !run_postgres(url, std::string("SELECT pid") + waiting).empty(); }));
  run_postgres(url, "SELECT " + how + "(pid)" + waiting);
}

template <class Work>
auto start_async(Work work) {
  return std::async(std::launch::async, std::move(work));
}

template <class Result>
bool still_waits(std::future<Result>& result) {
  return result.wait_for(300ms) == std::future_status::timeout;
}

// A separate cluster, since synchronous_standby_names is a setting of all databases.
PostgresCluster& cluster_to_replicate() {
  static PostgresCluster cluster;
  return cluster;
}

// A store whose PostgreSQL, after lose_standby(), waits for a standby that does not exist.
struct Lonely {
  PostgresCluster& cluster = cluster_to_replicate();
  std::string url = cluster.create_database();
  PostgresStore store{url, {.answer_max = 3'000ms, .bulk_answer_max = 3'000ms}};
  Lonely() {
    store.open();
    store.tables().load();
    store.journal().append(1, "payload");
  }
  ~Lonely() { cluster.replicate_to(""); }
  void lose_standby() { cluster.replicate_to("nobody"); }
  void find_standby() { cluster.replicate_to(""); }
};

}  // namespace

TEST_CASE("an append whose wait for the standby is canceled is in doubt") {
  Lonely one;
  one.lose_standby();
  auto append = start_async([&] { one.store.journal().append(2, "payload"); });
  const std::string how = GENERATE("pg_cancel_backend", "pg_terminate_backend");
  end_wait(one.url, how);
  if (how == "pg_cancel_backend")
    CHECK_THROWS_WITH(append.get(), contains_text("may not have replicated"));
  else
    CHECK_THROWS_AS(append.get(), StoreUnavailable);
  // The row is there, but no standby has it, so there is no answer yet.
  auto resolve = start_async([&] { return one.store.journal().resolve_in_doubt(2); });
  CHECK(still_waits(resolve));
  SECTION("and canceled again") {
    end_wait(one.url, "pg_cancel_backend");
    CHECK_THROWS_AS(resolve.get(), StoreUnavailable);
    one.find_standby();
    CHECK(one.store.journal().resolve_in_doubt(2));
  }
  SECTION("until the standby has it") {
    one.find_standby();
    CHECK(resolve.get());
  }
}

TEST_CASE("an epoch that no standby has is not taken") {
  PostgresCluster& cluster = cluster_to_replicate();
  const std::string url = cluster.create_database();
  PostgresStore(url).open();
  cluster.replicate_to("nobody");
  PostgresStore next(url, {.answer_max = 3'000ms});
  auto open = start_async([&] { next.open(); });
  end_wait(url, "pg_cancel_backend");
  CHECK_THROWS_AS(open.get(), StoreUnavailable);
  cluster.replicate_to("");
  next.open();
}

TEST_CASE("a projection that may not be replicated is repeated") {
  Lonely one;
  one.lose_standby();
  Rows rows = one_account();
  auto project = start_async([&] { one.store.tables().project(rows, 1); });
  end_wait(one.url, "pg_cancel_backend");
  CHECK_THROWS_AS(project.get(), StoreUnavailable);
  // The tables have it already, but no standby does.
  auto again = start_async([&] { one.store.tables().project(rows, 1); });
  CHECK(still_waits(again));
  one.find_standby();
  CHECK_NOTHROW(again.get());
}

TEST_CASE("a primary without its standby does not confirm the epoch") {
  Lonely one;
  one.store.journal().confirm_epoch();
  one.lose_standby();
  std::this_thread::sleep_for(std::chrono::nanoseconds(Lease::length_ns));
  auto confirm = start_async([&] { one.store.journal().confirm_epoch(); });
  CHECK(still_waits(confirm));
  one.find_standby();
  CHECK_NOTHROW(confirm.get());
  // The call below takes longer than a lease, which is counted from the beginning of the call.
  one.cluster.freeze();
  CHECK_THROWS_AS(one.store.journal().confirm_epoch(), StoreUnavailable);
  one.cluster.thaw();
}

TEST_CASE("for a moment after a commit the epoch is confirmed without PostgreSQL") {
  PostgresCluster& cluster = cluster_to_replicate();
  const std::string url = cluster.create_database();
  PostgresStore store(url, {.answer_max = 500ms});
  store.open();
  cluster.freeze();
  SECTION("not before the first commit of this server") {
    CHECK_THROWS_AS(store.journal().confirm_epoch(), StoreUnavailable);
  }
  cluster.thaw();
  if (!store.journal().resolve_in_doubt(1)) store.journal().append(1, "payload");
  cluster.freeze();
  SECTION("within the lease") { CHECK_NOTHROW(store.journal().confirm_epoch()); }
  SECTION("not after it") {
    std::this_thread::sleep_for(std::chrono::nanoseconds(Lease::length_ns));
    CHECK_THROWS_AS(store.journal().confirm_epoch(), StoreUnavailable);
  }
  cluster.thaw();
}

TEST_CASE("a new server waits until the lease of its predecessor is over") {
  const std::string url = shared_cluster().create_database();
  PostgresStore first(url);
  first.open();
  first.journal().append(1, "payload");
  const auto append_ended = std::chrono::steady_clock::now();
  end_connections(url);
  PostgresStore next(url);
  next.open();
  CHECK(std::chrono::steady_clock::now() - append_ended >=
        std::chrono::nanoseconds(Lease::wait_ns));
  CHECK_THROWS_AS(first.journal().confirm_epoch(), StoreUnavailable);
}

TEST_CASE("a server that ends says that its lease is over, unless it was replaced") {
  const std::string url = shared_cluster().create_database();
  const auto ended_epoch = [&] {
    return run_postgres(url, "SELECT ended_epoch FROM fence")[0][0].as<int>();
  };
  PostgresStore first(url);
  first.open();
  first.journal().append(1, "payload");
  CHECK(ended_epoch() == 0);
  first.end_lease();
  CHECK(ended_epoch() == 1);
  run_postgres(url, "UPDATE fence SET epoch = 2");
  first.end_lease();
  CHECK(ended_epoch() == 1);
}

TEST_CASE("a PostgreSQL that does not answer is given up after a while") {
  PostgresCluster& cluster = cluster_to_replicate();
  const std::string url = cluster.create_database();
  PostgresStore store(url, {.answer_max = 500ms, .bulk_answer_max = 500ms});
  store.open();
  store.tables().load();
  cluster.freeze();
  CHECK_THROWS_WITH(store.journal().append(1, "payload"),
                    contains_text("did not answer for 500 ms"));
  CHECK_THROWS_AS(store.journal().resolve_in_doubt(1), StoreUnavailable);
  CHECK_THROWS_AS(store.tables().project(Rows{}, 0), StoreUnavailable);
  CHECK_THROWS_AS(store.tables().read_order(1), StoreUnavailable);
  cluster.thaw();
  REQUIRE(wait_for([&] {
    try {
      if (!store.journal().resolve_in_doubt(1)) store.journal().append(1, "payload");
      return true;
    } catch (const StoreUnavailable&) {
      return false;
    }
  }));
}

TEST_CASE("of several hosts the primary with the highest timeline is used") {
  PostgresCluster old;
  const std::string old_url = old.create_database();
  PostgresCluster standby(old);
  const std::string url = url_of_both(old_url, standby);
  PostgresStore store(url, {.answer_max = 1'000ms, .bulk_answer_max = 30'000ms});
  store.open();  // the standby is not a primary
  store.tables().load();
  old.replicate_to("*");
  store.journal().append(1, "payload");
  store.tables().project(Rows{}, 1);
  CHECK_FALSE(store.tables().read_order(1));

  old.freeze();
  CHECK_THROWS_AS(store.journal().append(2, "payload"), StoreUnavailable);
  CHECK_THROWS_WITH(store.journal().resolve_in_doubt(2), contains_text("is a standby"));
  standby.promote();
  CHECK(store.journal().resolve_in_doubt(1));
  CHECK_FALSE(store.journal().resolve_in_doubt(2));
  store.journal().append(2, "payload");
  SECTION("the old primary still hangs") {
    // The connections of the other threads lead to the old primary, and are not used any more.
    CHECK_NOTHROW(store.tables().project(Rows{}, 2));
    CHECK_FALSE(store.tables().read_order(1));
    CHECK(store.tables().read_events(1, 1, 10).empty());
    old.thaw();
  }
  SECTION("the old primary answers again") {
    old.thaw();
    CHECK_FALSE(store.tables().read_order(1));
    CHECK_NOTHROW(store.tables().project(Rows{}, 2));
    CHECK_FALSE(store.tables().read_order(1));
    store.journal().append(3, "payload");
    CHECK(journal_after(store, 0).size() == 3);
  }
  SECTION("and after the new one is gone") {
    standby.kill();
    old.thaw();
    CHECK_THROWS_AS(store.journal().append(3, "payload"), StoreUnavailable);
    CHECK_THROWS_WITH(store.journal().resolve_in_doubt(3),
                      contains_text("was replaced as primary"));
  }
}

TEST_CASE("behind one address too, no connection to a primary that was replaced is used") {
  const std::uint64_t timeline = 7;
  SocketDeadlines deadlines;
  int sockets[2];
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0);
  const auto is_shut_down = [&] {
    char byte;
    return ::recv(sockets[1], &byte, 1, MSG_DONTWAIT) == 0;
  };
  deadlines.expire_before(timeline);
  {
    SocketDeadlines::Watch newest(deadlines, sockets[0], timeline, 1h);
    SocketDeadlines::Watch unknown(deadlines, sockets[0], 0, 1h);
    CHECK_FALSE(is_shut_down());
    CHECK_FALSE(newest.end());
  }
  SocketDeadlines::Watch late(deadlines, sockets[0], timeline - 1, 1h);
  CHECK(is_shut_down());
  CHECK(late.end());
  ::close(sockets[0]);
  ::close(sockets[1]);
}

TEST_CASE("one host that is replaced behind its address counts as a failover") {
  PostgresCluster old;
  const std::string old_url = old.create_database();
  PostgresCluster standby(old);
  // An address that moves: a link to the socket.
  const TemporaryFolder folder;
  const std::string address = folder / ".s.PGSQL.5432",
                    url = old_url.substr(0, old_url.find("host=") + 5) + folder.path();
  std::filesystem::create_symlink(old.socket_path(), address);
  PostgresStore store(url, {.answer_max = 1'000ms, .bulk_answer_max = 30'000ms});
  store.open();
  store.tables().load();
  old.replicate_to("*");
  store.journal().append(1, "payload");
  store.tables().project(Rows{}, 1);
  CHECK(store.status().failovers == 0);
  old.freeze();
  CHECK_THROWS_AS(store.journal().append(2, "payload"), StoreUnavailable);
  standby.promote();
  std::filesystem::remove(address);
  std::filesystem::create_symlink(standby.socket_path(), address);
  CHECK_FALSE(store.journal().resolve_in_doubt(2));
  CHECK(store.status().failovers == 1);
  CHECK_NOTHROW(store.tables().project(Rows{}, 1));
  std::filesystem::remove(address);
  std::filesystem::create_symlink(old.socket_path(), address);
  old.thaw();
  standby.kill();
  CHECK_THROWS_AS(store.journal().append(2, "payload"), StoreUnavailable);
  CHECK_THROWS_WITH(store.journal().resolve_in_doubt(2), contains_text("was replaced"));
}

TEST_CASE("orders are read while projections commit") {
  PostgresStore store(shared_cluster().create_database());
  store.open();
  store.tables().load();
  std::atomic<bool> done = false;
  auto reader = start_async([&] {
    int reads = 0;
    for (; !done; ++reads) CHECK_FALSE(store.tables().read_order(1));
    return reads;
  });
  for (BatchNumber batch = 1; batch <= 500; ++batch) store.tables().project(Rows{}, batch);
  done = true;
  CHECK(reader.get() > 0);
}

TEST_CASE("the number of synchronous standbys that a setting asks for") {
  CHECK(synchronous_replicas("") == 0);
  CHECK(synchronous_replicas("  ") == 0);
  CHECK(synchronous_replicas("*") == 1);
  CHECK(synchronous_replicas("a, b") == 1);
  CHECK(synchronous_replicas("2 (a, b, c)") == 2);
  CHECK(synchronous_replicas("FIRST 3 (*)") == 3);
  CHECK(synchronous_replicas("any 2(a,b)") == 2);
  CHECK(synchronous_replicas("\"ANY 2 (\"") == 1);
}

TEST_CASE("with --require-replicas a store serves only while commits are replicated") {
  PostgresCluster& cluster = cluster_to_replicate();
  const std::string url = cluster.create_database();
  PostgresCluster standby(cluster);
  PostgresStore store(url, {.answer_max = 3'000ms, .replicas_required = 1});
  CHECK_THROWS_WITH(store.open(), contains_text("--require-replicas asks for 1"));
  cluster.replicate_to("*");
  store.open();
  store.journal().append(1, "payload");
  cluster.replicate_to("");
  CHECK_THROWS_WITH(store.journal().append(2, "payload"),
                    contains_text("to 0 synchronous standbys"));
  CHECK_THROWS_AS(store.journal().resolve_in_doubt(2), StoreUnavailable);
  cluster.replicate_to("*");
  CHECK(store.journal().resolve_in_doubt(2));
  store.journal().confirm_epoch();
  cluster.replicate_to("");
  std::this_thread::sleep_for(std::chrono::nanoseconds(Lease::length_ns));
  CHECK_THROWS_AS(store.journal().confirm_epoch(), StoreUnavailable);
}

TEST_CASE("only PostgreSQL can be asked for replicas") {
  CHECK_THROWS_WITH(make_store("sqlite:x.db", {.replicas_required = 1}),
                    contains_text("--require-replicas needs a PostgreSQL store"));
  CHECK_THROWS_WITH(make_store("postgresql://host:port:1/db?unknown=1"), contains_text("--store"));
}
