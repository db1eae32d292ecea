// Two servers and one store: the second is refused while the first lives, and a first that was taken for
// dead can no longer commit.

#include "catch.hpp"

#include <thread>

#include "store/postgres_store.hpp"
#include "store/pqxx_shim.hpp"
#include "store/sqlite_store.hpp"
#include "system/postgres_cluster.hpp"

using namespace exchange;
using exchange::testing::PostgresCluster;
using exchange::testing::shared_cluster;
using exchange::testing::TemporaryFolder;

TEST_CASE("a second server on the same SQLite store refuses to start, until the first is gone") {
  TemporaryFolder folder;
  auto first = std::make_unique<SqliteStore>(folder.path() + "/x.db");
  first->open();
  SqliteStore second(folder.path() + "/x.db");
  CHECK_THROWS_AS(second.open(), StoreFenced);
  first.reset();
  second.open();
  second.append(1, "payload");
}

TEST_CASE("SQLite refuses files that do not belong together, and files that are none") {
  TemporaryFolder folder;
  const auto make = [&](const std::string& name) {
    SqliteStore store(folder.path() + "/" + name);
    store.open();
    store.append(1, "payload");
  };
  make("a.db");
  make("b.db");
  const auto open_error = [&] {
    SqliteStore store(folder.path() + "/a.db");
    try {
      store.open();
    } catch (const StoreCorrupt& error) {
      return std::string(error.what());
    }
    return std::string("opened");
  };
  const auto run = [&](const std::string& command) { REQUIRE(std::system(("cd " + folder.path() + " && " + command).c_str()) == 0); };
  SECTION("another store's journal") {
    run("cp b.db.journal a.db.journal");
    CHECK_THAT(open_error(), contains_text("different stores"));
  }
  SECTION("no journal") {
    run("rm a.db.journal");
    CHECK_THAT(open_error(), contains_text("a.db.journal is missing"));
  }
  SECTION("no tables") {
    run("rm a.db");
    CHECK_THAT(open_error(), contains_text("a.db is missing"));
  }
  SECTION("not a database") {
    run("printf 'this is no database, but long enough to have a header%.0s' 1 2 3 4 > a.db");
    CHECK_THAT(open_error(), contains_text("not a database"));
  }
  SECTION("untouched") { CHECK(open_error() == "opened"); }
}

TEST_CASE("a second server on the same PostgreSQL database refuses to start, until the first is gone") {
  const std::string url = shared_cluster().create_database();
  auto first = std::make_unique<PostgresStore>(url);
  first->open();
  PostgresStore second(url);
  CHECK_THROWS_AS(second.open(), StoreFenced);
  first.reset();
  second.open();
  second.append(1, "payload");
}

TEST_CASE("a PostgreSQL server that lost its lock to another can neither append nor project") {
  const std::string url = shared_cluster().create_database();
  PostgresStore zombie(url);
  zombie.open();
  zombie.append(1, "payload");
  const auto end_other_connections = [&] {
    pqxx::connection admin(url);
    pqxx::nontransaction(admin).exec(
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()");
  };
  end_other_connections();
  PostgresStore successor(url);
  successor.open();
  successor.append(2, "of the successor");

  CHECK_THROWS_AS(zombie.append(2, "of the zombie"), StoreUnavailable);
  CHECK_THROWS_AS(zombie.settle(2), StoreFenced);
  CHECK_THROWS_AS(zombie.project(Rows{}, 1), StoreFenced);
  successor.append(3, "goes on");
}

TEST_CASE("after PostgreSQL was restarted, an append that failed is settled by its number and service goes on") {
  PostgresCluster cluster;
  PostgresStore store(cluster.create_database());
  store.open();
  store.append(1, "before");
  cluster.kill();
  CHECK_THROWS_AS(store.append(2, "lost"), StoreUnavailable);
  CHECK_THROWS_AS(store.settle(2), StoreUnavailable);
  cluster.start();
  CHECK(store.settle(1));
  CHECK_FALSE(store.settle(2));
  store.append(2, "again");
  CHECK(store.settle(2));
}

TEST_CASE("the description of a store shows no password") {
  CHECK(PostgresStore("postgresql://user:secret@host:5432/db").describe() == "postgresql://user@host:5432/db");
  CHECK(PostgresStore("postgresql://host/db?password=secret").describe() == "postgresql://host/db");
}
