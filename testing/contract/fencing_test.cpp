// Two servers and one store: the second is refused while the first lives, and a first that was
// taken for dead can no longer commit.

#include "catch.hpp"

#include <thread>

#include "contract/one_account.hpp"
#include "core/recovery.hpp"
#include "store/journal_record.hpp"
#include "store/postgres_store.hpp"
#include "store/pqxx_shim.hpp"
#include "store/sqlite_store.hpp"
#include "support/folder.hpp"
#include "support/postgres_cluster.hpp"

using namespace exchange;
using exchange::testing::one_account;
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
  const auto run = [&](const std::string& command) {
    REQUIRE(std::system(("cd " + folder.path() + " && " + command).c_str()) == 0);
  };
  SECTION("another store's journal") {
    run("cp b.db.journal a.db.journal");
    CHECK_THAT(open_error(), contains_text("different stores"));
  }
  SECTION("no journal") {
    run("rm a.db.journal");
    CHECK_THAT(open_error(), contains_text("a.db.journal is missing"));
  }
  SECTION("no tables, and a journal that was pruned") {
    SqliteDatabase(folder.path() + "/a.db.journal", SqliteDatabase::Use::write)
        .run("UPDATE journal SET batch = 2");
    run("rm a.db");
    CHECK_THAT(open_error(), contains_text("a.db is missing"));
  }
  SECTION("no tables, and a journal from the first batch on: they can be rebuilt") {
    run("rm a.db");
    CHECK(open_error() == "opened");
  }
  SECTION("not a database") {
    run("printf 'this is no database, but long enough to have a header%.0s' 1 2 3 4 > a.db");
    CHECK_THAT(open_error(), contains_text("not a database"));
  }
  SECTION("untouched") { CHECK(open_error() == "opened"); }
}

TEST_CASE(
    "a second server on the same PostgreSQL database refuses to start, until the first is gone") {
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
  CHECK_THROWS_AS(zombie.resolve_in_doubt(2), StoreFenced);
  CHECK_THROWS_AS(zombie.project(Rows{}, 1), StoreFenced);
  successor.append(3, "goes on");
}

TEST_CASE(
    "after PostgreSQL was restarted, an append that failed is resolved by its number and service goes on") {
  PostgresCluster cluster;
  PostgresStore store(cluster.create_database());
  store.open();
  store.append(1, "before");
  cluster.kill();
  CHECK_THROWS_AS(store.append(2, "lost"), StoreUnavailable);
  CHECK_THROWS_AS(store.resolve_in_doubt(2), StoreUnavailable);
  cluster.start();
  CHECK(store.resolve_in_doubt(1));
  CHECK_FALSE(store.resolve_in_doubt(2));
  store.append(2, "again");
  CHECK(store.resolve_in_doubt(2));
}

TEST_CASE(
    "a server that has lost PostgreSQL cannot vouch for what it knows until it has asked again") {
  PostgresCluster cluster;
  PostgresStore store(cluster.create_database());
  store.open();
  cluster.kill();
  CHECK_THROWS_AS(store.confirm_epoch(), StoreUnavailable);
  cluster.start();
  // another may have come and gone: the lock must be ours again
  CHECK_THROWS_AS(store.confirm_epoch(), StoreUnavailable);
  CHECK_FALSE(store.resolve_in_doubt(1));
  store.confirm_epoch();
}

TEST_CASE("the description of a store shows no password") {
  CHECK(PostgresStore("postgresql://user:secret@host:5432/db").describe() ==
        "postgresql://user@host:5432/db");
  CHECK(PostgresStore("postgresql://host/db?password=secret").describe() == "postgresql://host/db");
}

TEST_CASE("PostgreSQL that was put back to an older state is refused at once, not written into") {
  const std::string url = shared_cluster().create_database();
  PostgresStore store(url);
  store.open();
  store.load();
  for (BatchNumber batch = 1; batch <= 3; ++batch) store.append(batch, "payload");
  store.project(Rows{}, 3);
  const auto run = [&](const std::string& sql) {
    pqxx::connection admin(url);
    pqxx::nontransaction(admin).exec(sql);
  };
  SECTION("committed batches lost") {
    run("DELETE FROM journal WHERE batch = 3; UPDATE projection SET batch = 2");
    CHECK_THROWS_WITH(store.resolve_in_doubt(4), contains_text("has lost committed batches"));
  }
  SECTION("a projection lost") {
    run("UPDATE projection SET batch = 2");
    CHECK_THROWS_WITH(store.project(Rows{}, 4), contains_text("has lost a projection"));
  }
  SECTION("a table lost is nothing that waiting mends") {
    run("DROP TABLE journal");
    CHECK_THROWS_AS(store.append(4, "payload"), StoreCorrupt);
  }
  SECTION("untouched") {
    CHECK_FALSE(store.resolve_in_doubt(4));
    store.append(4, "payload");
    store.project(Rows{}, 4);
    store.project(Rows{}, 4);
  }
}

TEST_CASE(
    "a SQLite server whose lock file was taken from under it can neither append nor project after another has opened") {
  TemporaryFolder folder;
  const std::string path = folder.path() + "/x.db";
  SqliteStore zombie(path);
  zombie.open();
  REQUIRE(std::remove((path + ".lock").c_str()) == 0);
  SqliteStore successor(path);
  // The journal is locked by the first while it lives, so the second does not even get so far.
  CHECK_THROWS_AS(successor.open(), StoreCorrupt);
  zombie.append(1, "payload");
}

TEST_CASE(
    "a SQLite server that finds the journal of a successor when it resolves a batch can neither resolve nor append") {
  TemporaryFolder folder;
  const std::string path = folder.path() + "/x.db";
  const auto run = [&](const std::string& command) {
    REQUIRE(std::system(("cd " + folder.path() + " && " + command).c_str()) == 0);
  };
  SqliteStore zombie(path);
  zombie.open();
  // The journal is locked while it is open; in a settlement it is opened anew, and finds what a
  // successor left.
  run("cp x.db.journal new && cp x.db.journal-wal new-wal && sqlite3 new 'UPDATE fence SET epoch = epoch + 1'");
  run("mv new x.db.journal && rm x.db.journal-wal");
  CHECK_THROWS_AS(zombie.resolve_in_doubt(1), StoreFenced);
  CHECK_THROWS_AS(zombie.append(1, "of the zombie"), StoreFenced);
}

TEST_CASE("SQLite's journal rows go only when the tables that replace them are in their file") {
  TemporaryFolder folder;
  const std::string path = folder.path() + "/x.db";
  SqliteStore store(path);
  store.open();
  for (BatchNumber batch = 1; batch <= 3; ++batch) store.append(batch, "payload");
  store.project(one_account(), 2);
  store.prune(1);
  // What a power cut leaves at worst: the file without its log.
  REQUIRE(std::system(("cp " + path + " " + folder.path() + "/bare.db").c_str()) == 0);
  SqliteDatabase bare(folder.path() + "/bare.db", SqliteDatabase::Use::read);
  SqliteStatement batch(bare, "SELECT batch FROM projection");
  REQUIRE(batch.step());
  CHECK(batch.integer(0) == 2);
}

TEST_CASE("a batch of another server is not resolved as ours") {
  const std::string url = shared_cluster().create_database();
  PostgresStore store(url);
  store.open();
  store.append(1, "payload");
  pqxx::connection admin(url);
  pqxx::nontransaction(admin).exec(
      "INSERT INTO journal SELECT 2, epoch + 1, 'of another' FROM fence");
  CHECK_THROWS_AS(store.resolve_in_doubt(2), StoreFenced);
}

TEST_CASE("a projection that PostgreSQL refuses leaves nothing behind") {
  const std::string url = shared_cluster().create_database();
  PostgresStore store(url);
  store.open();
  store.load();
  pqxx::connection admin(url);
  pqxx::nontransaction(admin).exec("UPDATE projection SET batch = 7");
  CHECK_THROWS_AS(store.project(one_account(), 1), StoreCorrupt);
  CHECK(pqxx::nontransaction(admin).exec("SELECT count(*) FROM accounts")[0][0].as<int>() == 0);
}

TEST_CASE("rows that stand in the way of a projection are no trouble that passes") {
  TemporaryFolder folder;
  const std::string path = folder.path() + "/x.db", url = shared_cluster().create_database();
  const char* const in_the_way = "INSERT INTO accounts VALUES (7, '1', '0')";
  const auto refuses = [](Store& store) {
    CHECK_THROWS_AS(store.project(one_account(), 1), StoreCorrupt);
    CHECK_THROWS_WITH(store.project(one_account(), 1),
                      contains_text("the tables do not take batch 1; restore"));
    CHECK(store.load().rows.accounts.size() == 1);
  };
  SECTION("SQLite") {
    SqliteStore store(path);
    store.open();
    SqliteDatabase(path, SqliteDatabase::Use::write).run(in_the_way);
    refuses(store);
    store.append(1, "payload");
    CHECK_THROWS_AS(store.append(1, "payload"), StoreUnavailable);  // resolved by its number
  }
  SECTION("PostgreSQL") {
    PostgresStore store(url);
    store.open();
    pqxx::connection admin(url);
    pqxx::nontransaction(admin).exec(in_the_way);
    refuses(store);
  }
}

TEST_CASE("what PostgreSQL committed is there after a crash, though its role asks for less") {
  PostgresCluster cluster;
  const std::string url = cluster.create_database();
  const auto run = [&](const std::string& sql) {
    pqxx::connection admin(url);
    pqxx::nontransaction(admin).exec(sql);
  };
  run("ALTER ROLE exchange SET synchronous_commit = off");
  run("ALTER SYSTEM SET wal_writer_delay = '10s'");
  run("SELECT pg_reload_conf()");
  constexpr BatchNumber batches = 20;
  {
    PostgresStore store(url);
    store.open();
    for (BatchNumber batch = 1; batch <= batches; ++batch) store.append(batch, "payload");
    cluster.kill();
  }
  cluster.start();
  PostgresStore store(url);
  store.open();
  BatchNumber found = 0;
  store.read_journal(0, [&](const JournalRow&) { ++found; });
  CHECK(found == batches);
}

TEST_CASE("damaged rows are refused in words") {
  TemporaryFolder folder;
  const std::string path = folder.path() + "/x.db";
  {
    SqliteStore store(path);
    store.open();
    Exchange exchange;
    exchange.apply(CreateAccount{AccountId("1"), Cash::whole(1)}, {});
    Rows rows;
    exchange.take_changes(rows);
    store.project(rows, 1);
    JournalWriter writer;
    writer.begin({});
    store.append(1, writer.finish(exchange.totals()));
  }
  const auto load_error = [&](const std::string& sql) {
    SqliteDatabase(path, SqliteDatabase::Use::write).run(sql.c_str());
    SqliteStore store(path);
    store.open();
    try {
      recover(store);
    } catch (const StoreCorrupt& error) {
      return std::string(error.what());
    }
    return std::string("loaded");
  };
  CHECK_THAT(load_error("UPDATE accounts SET balance_e16 = 'much'"),
             contains_text("no amount of cash"));
  CHECK_THAT(load_error("UPDATE accounts SET balance_e16 = '5'"),
             contains_text("cash not conserved"));
  CHECK_THAT(load_error("UPDATE accounts SET balance_e16 = '10000000000000000', id = 'x'"),
             contains_text("no account id"));
  CHECK(load_error("UPDATE accounts SET id = '1'") == "loaded");
}
