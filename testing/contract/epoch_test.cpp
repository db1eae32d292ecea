// Fencing: a server that was replaced cannot change anything, whenever its successor takes over.

#include <chrono>
#include <thread>

#include "contract/places.hpp"

using namespace exchange;
using namespace exchange::testing;

TEST_CASE("a fenced SQLite server cannot change the tables") {
  TemporaryFolder folder;
  const std::string path = folder / "x.db";
  SqliteStore fenced(path);
  fenced.open();
  run_sqlite(path, "UPDATE projection SET epoch = epoch + 1");
  CHECK_THROWS_AS(fenced.tables().project(one_account(), 1), StoreFenced);
  CHECK(fenced.tables().load().rows.accounts.empty());  // none of its rows is written
}

TEST_CASE("a fenced PostgreSQL server can neither append, resolve, project nor confirm its epoch") {
  const std::string url = shared_cluster().create_database();
  PostgresStore fenced(url);
  fenced.open();
  fenced.tables().load();
  fenced.journal().append(1, "payload");
  fenced.journal().confirm_epoch();
  run_postgres(url, "UPDATE fence SET epoch = epoch + 1");
  SECTION("append, on a new connection") {
    CHECK_THROWS_AS(fenced.journal().append(2, "of the fenced server"), StoreFenced);
  }
  SECTION("confirm_epoch, once its lease is over") {
    std::this_thread::sleep_for(std::chrono::nanoseconds(Lease::length_ns));
    CHECK_THROWS_AS(fenced.journal().confirm_epoch(), StoreFenced);
  }
  SECTION("resolve") { CHECK_THROWS_AS(fenced.journal().resolve_in_doubt(2), StoreFenced); }
  SECTION("project") {
    CHECK_THROWS_AS(fenced.tables().project(one_account(), 1), StoreFenced);
    CHECK(fenced.tables().load().rows.accounts.empty());
  }
  CHECK(journal_after(fenced, 0).size() == 1);
}
