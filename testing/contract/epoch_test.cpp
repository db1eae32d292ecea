// A server whose epoch has passed can change nothing, at whatever moment its successor takes over.

#include "catch.hpp"

#include "contract/one_account.hpp"
#include "store/postgres_store.hpp"
#include "store/pqxx_shim.hpp"
#include "store/sqlite_store.hpp"
#include "support/folder.hpp"
#include "support/postgres_cluster.hpp"

using namespace exchange;
using exchange::testing::one_account;
using exchange::testing::shared_cluster;
using exchange::testing::TemporaryFolder;

namespace {

void run(const std::string& file, const char* sql) {
  SqliteDatabase database(file, SqliteDatabase::Use::write);
  database.run(sql);
}

}  // namespace

TEST_CASE(
    "a SQLite server whose epoch has passed can neither append nor resolve a batch, nor vouch for what it knows") {
  TemporaryFolder folder;
  const std::string path = folder.path() + "/x.db";
  SqliteStore(path).open();
  // The journal file is its server's alone, so the successor comes from inside of it: with batch 2.
  run(path + ".journal",
      "CREATE TRIGGER successor AFTER INSERT ON journal WHEN new.batch = 2 BEGIN UPDATE fence SET epoch = epoch + 1; END");
  SqliteStore zombie(path);
  zombie.open();
  zombie.append(1, "payload");
  CHECK(zombie.resolve_in_doubt(1));
  zombie.confirm_epoch();
  zombie.append(2, "payload");
  CHECK_THROWS_AS(zombie.confirm_epoch(), StoreFenced);
  CHECK_THROWS_AS(zombie.append(3, "of the zombie"), StoreFenced);
  CHECK_THROWS_AS(zombie.resolve_in_doubt(3), StoreFenced);
  std::size_t rows = 0;
  zombie.read_journal(0, [&](const JournalRow&) { ++rows; });
  CHECK(rows == 2);
}

TEST_CASE("a SQLite server whose epoch has passed cannot change the tables") {
  TemporaryFolder folder;
  const std::string path = folder.path() + "/x.db";
  SqliteStore zombie(path);
  zombie.open();
  run(path, "UPDATE projection SET epoch = epoch + 1");
  CHECK_THROWS_AS(zombie.project(one_account(), 1), StoreFenced);
  CHECK(zombie.load().rows.accounts.empty());  // nor is a part of it there
}

TEST_CASE(
    "a PostgreSQL server whose epoch has passed can neither append, resolve a batch, change the tables nor vouch for what it knows") {
  const std::string url = shared_cluster().create_database();
  PostgresStore zombie(url);
  zombie.open();
  zombie.load();
  zombie.append(1, "payload");
  zombie.confirm_epoch();
  pqxx::connection admin(url);
  pqxx::nontransaction(admin).exec("UPDATE fence SET epoch = epoch + 1");
  SECTION("append, on a connection that is as good as new") {
    CHECK_THROWS_AS(zombie.append(2, "of the zombie"), StoreFenced);
  }
  SECTION("what it knows") { CHECK_THROWS_AS(zombie.confirm_epoch(), StoreFenced); }
  SECTION("resolve") { CHECK_THROWS_AS(zombie.resolve_in_doubt(2), StoreFenced); }
  SECTION("project") {
    CHECK_THROWS_AS(zombie.project(one_account(), 1), StoreFenced);
    CHECK(zombie.load().rows.accounts.empty());
  }
  std::size_t rows = 0;
  zombie.read_journal(0, [&](const JournalRow&) { ++rows; });
  CHECK(rows == 1);
}
