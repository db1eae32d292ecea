// Two servers and one store: the second is refused while the first lives, and a first server that
// was replaced cannot change anything, whenever its successor takes over.

#include <chrono>
#include <future>
#include <thread>

#include "contract/places.hpp"
#include "support/stores.hpp"

using namespace exchange;
using namespace exchange::testing;

namespace {

// Lets PostgreSQL refuse these changes, as on a full disk.
void fail_on(const std::string& url, const std::string& changes) {
  run_postgres(url,
               "CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS"
               " $$ BEGIN RAISE 'no space left on device' USING ERRCODE = '53100'; END $$;"
               "CREATE TRIGGER fail BEFORE " +
                   changes + " EXECUTE FUNCTION fail()");
}

// A server on a database of its own, after its first batch.
struct Active {
  const std::string url = shared_cluster().create_database();
  PostgresStore store{url};
  Active() {
    store.open();
    store.tables().load();
    store.journal().append(1, "payload");
  }
};

}  // namespace

TEST_CASE("a second server on the same store refuses to start, until the first is gone") {
  const auto place = any_kept_place();
  auto first = place->make();
  first->open();
  const auto second = place->make();
  CHECK_THROWS_AS(second->open(), StoreFenced);
  first.reset();
  second->open();
  second->journal().append(1, "payload");
}

TEST_CASE("a fenced SQLite server cannot change the tables") {
  TemporaryFolder folder;
  const std::string path = folder / "x.db";
  SqliteStore fenced(path);
  fenced.open();
  run_sqlite(path, "UPDATE projection SET epoch = epoch + 1");
  CHECK_THROWS_AS(fenced.tables().project(one_account(), 1), StoreFenced);
  CHECK(fenced.tables().load().rows.accounts.empty());  // none of its rows is written
}

TEST_CASE_METHOD(
    Active,
    "a fenced PostgreSQL server can neither append, resolve, project nor confirm its epoch") {
  store.journal().confirm_epoch();
  run_postgres(url, "UPDATE fence SET epoch = epoch + 1");
  SECTION("append, on a new connection") {
    CHECK_THROWS_AS(store.journal().append(2, "of the fenced server"), StoreFenced);
  }
  SECTION("confirm_epoch, once its lease is over") {
    std::this_thread::sleep_for(std::chrono::nanoseconds(Lease::length_ns));
    CHECK_THROWS_AS(store.journal().confirm_epoch(), StoreFenced);
  }
  SECTION("resolve") { CHECK_THROWS_AS(store.journal().resolve_in_doubt(2), StoreFenced); }
  SECTION("project") {
    CHECK_THROWS_AS(store.tables().project(one_account(), 1), StoreFenced);
    CHECK(store.tables().load().rows.accounts.empty());
  }
  CHECK(journal_after(store, 0).size() == 1);
}

TEST_CASE("SQLite refuses files of different stores, and files that are not a database") {
  TemporaryFolder folder;
  const auto make = [&](const std::string& name) {
    SqliteStore store(folder.path() + "/" + name);
    store.open();
    store.journal().append(1, "payload");
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
    std::string id;
    {
      JournalFile journal(folder / "a.db.journal", JournalFile::Use::read);
      id = journal.id();
    }
    JournalFile::create(folder / "a.db.journal", id, 1, 1, 4'096);
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

TEST_CASE_METHOD(
    Active, "a PostgreSQL server that lost its lock to another can neither append nor project") {
  end_connections(url);
  PostgresStore successor(url);
  successor.open();
  successor.journal().append(2, "of the successor");

  CHECK_THROWS_AS(store.journal().append(2, "of the fenced server"), StoreUnavailable);
  CHECK_THROWS_AS(store.journal().resolve_in_doubt(2), StoreFenced);
  CHECK_THROWS_AS(store.tables().project(Rows{}, 1), StoreFenced);
  successor.journal().append(3, "goes on");
}

TEST_CASE("after a restart of PostgreSQL a failed append is resolved by its number") {
  PostgresCluster& cluster = shared_cluster();
  PostgresStore store(cluster.create_database());
  store.open();
  store.journal().append(1, "before");
  cluster.kill();
  CHECK_THROWS_AS(store.journal().append(2, "lost"), StoreUnavailable);
  CHECK_THROWS_AS(store.journal().resolve_in_doubt(2), StoreUnavailable);
  cluster.start();
  CHECK(store.journal().resolve_in_doubt(1));
  CHECK_FALSE(store.journal().resolve_in_doubt(2));
  store.journal().append(2, "again");
  CHECK(store.journal().resolve_in_doubt(2));
}

TEST_CASE_METHOD(Active, "a PostgreSQL server keeps its lock while the disk is full") {
  PostgresStore other(url);
  fail_on(url, "INSERT ON journal");
  for (int attempt = 0; attempt < 3; ++attempt) {
    CHECK_THROWS_AS(store.journal().append(2, "payload"), StoreUnavailable);
    CHECK_FALSE(other.try_open());
    CHECK_FALSE(store.journal().resolve_in_doubt(2));
  }
  CHECK_FALSE(other.try_open());
  run_postgres(url, "DROP TRIGGER fail ON journal");
  store.journal().append(2, "payload");
  store.end_lease();  // after one release the lock is free, so it was taken once
  CHECK(other.try_open());
}

TEST_CASE(
    "a standby server whose take-over fails does not take its own lock for another server's") {
  const std::string url = shared_cluster().create_database();
  {
    PostgresStore first(url);
    first.open();
    first.end_lease();  // PostgreSQL may notice the end of a connection later
  }
  PostgresStore store(url);
  store.attach();
  fail_on(url, "UPDATE ON fence");
  CHECK_THROWS_AS(store.try_open(), StoreUnavailable);
  CHECK(store.active_server() != ActiveServer::there);
  run_postgres(url, "DROP TRIGGER fail ON fence");
  CHECK(store.try_open());
  store.end_lease();
  CHECK(PostgresStore(url).try_open());
}

TEST_CASE("without its PostgreSQL connection a server cannot confirm its epoch") {
  PostgresCluster& cluster = shared_cluster();
  PostgresStore store(cluster.create_database());
  store.open();
  cluster.kill();
  CHECK_THROWS_AS(store.journal().confirm_epoch(), StoreUnavailable);
  cluster.start();
  // Another server may have written meanwhile: this one must take the lock again first.
  CHECK_THROWS_AS(store.journal().confirm_epoch(), StoreUnavailable);
  CHECK_FALSE(store.journal().resolve_in_doubt(1));
  store.journal().confirm_epoch();
}

TEST_CASE("the description of a store shows no password") {
  CHECK(PostgresStore("postgresql://user:secret@host:5432/db").describe() ==
        "postgresql://user@host:5432/db");
  CHECK(PostgresStore("postgresql://host/db?password=secret").describe() == "postgresql://host/db");
}

TEST_CASE_METHOD(Active,
                 "a PostgreSQL database that was restored to an older state is refused at once") {
  for (const BatchNumber batch : {2, 3}) store.journal().append(batch, "payload");
  store.tables().project(Rows{}, 3);
  const auto run = [&](const std::string& sql) { run_postgres(url, sql); };
  SECTION("committed batches lost") {
    run("DELETE FROM journal WHERE batch = 3; UPDATE projection SET batch = 2");
    CHECK_THROWS_WITH(store.journal().resolve_in_doubt(4),
                      contains_text("has lost committed batches"));
  }
  SECTION("a projection lost") {
    run("UPDATE projection SET batch = 2");
    CHECK_THROWS_WITH(store.tables().project(Rows{}, 4), contains_text("has lost a projection"));
  }
  SECTION("a lost table is not retryable") {
    run("DROP TABLE journal");
    CHECK_THROWS_AS(store.journal().append(4, "payload"), StoreCorrupt);
  }
  SECTION("untouched") {
    CHECK_FALSE(store.journal().resolve_in_doubt(4));
    store.journal().append(4, "payload");
    store.tables().project(Rows{}, 4);
    store.tables().project(Rows{}, 4);
  }
}

TEST_CASE("a SQLite store is not opened twice, though its lock file was removed") {
  TemporaryFolder folder;
  const std::string path = folder / "x.db";
  SqliteStore fenced(path);
  fenced.open();
  REQUIRE(std::remove((path + ".lock").c_str()) == 0);
  SqliteStore successor(path);
  // The first server locks the journal while it lives, so the second cannot even open it.
  CHECK_THROWS_AS(successor.open(), StoreFenced);
  fenced.journal().append(1, "payload");
}

TEST_CASE(
    "a SQLite server that finds the journal of a successor cannot resolve an append in doubt") {
  TemporaryFolder folder;
  const std::string path = folder / "x.db";
  const auto run = [&](const std::string& command) {
    REQUIRE(std::system(("cd " + folder.path() + " && " + command).c_str()) == 0);
  };
  SqliteStore fenced(path);
  fenced.open();
  fenced.journal().append(1, "payload");
  CHECK(fenced.journal().resolve_in_doubt(1));
  // The journal is locked while it is open: a successor can only put another file in its place.
  run("cp x.db.journal new");
  {
    JournalFile journal(folder / "new", JournalFile::Use::write);
    journal.take_epoch();
  }
  run("mv new x.db.journal");
  CHECK_THROWS_AS(fenced.journal().resolve_in_doubt(1), StoreFenced);
}

TEST_CASE(
    "SQLite gives journal batches up only when the tables that replace them are in their file") {
  TemporaryFolder folder;
  const std::string path = folder / "x.db";
  SqliteStore store(path);
  store.open();
  for (BatchNumber batch = 1; batch <= 3; ++batch) store.journal().append(batch, "payload");
  store.tables().project(one_account(), 2);
  prune(store, 1);
  // The worst that a power cut leaves: the file without its log.
  REQUIRE(std::system(("cp " + path + " " + folder.path() + "/bare.db").c_str()) == 0);
  SqliteDatabase bare(folder.path() + "/bare.db", SqliteDatabase::Use::read);
  SqliteStatement batch(bare, "SELECT batch FROM projection");
  REQUIRE(batch.step());
  CHECK(batch.integer(0) == 2);
}

TEST_CASE_METHOD(Active, "a batch of another server is not resolved as this server's") {
  run_postgres(url, "INSERT INTO journal SELECT 2, epoch + 1, 'of another' FROM fence");
  CHECK_THROWS_AS(store.journal().resolve_in_doubt(2), StoreFenced);
}

TEST_CASE_METHOD(Active, "a projection that PostgreSQL refuses leaves nothing behind") {
  run_postgres(url, "INSERT INTO executions VALUES (1, 0, 1, 2, 1, 1, 0)");
  Rows rows = one_account();
  rows.executions.push_back({1, 0, 1, 2, Shares::whole(1), Price::whole(1), Timestamp{}});
  CHECK_THROWS_AS(store.tables().project(rows, 1), StoreCorrupt);
  CHECK(run_postgres(url, "SELECT count(*) FROM accounts")[0][0].as<int>() == 0);
}

TEST_CASE_METHOD(Active, "a projection is repeated while its first attempt is still committing") {
  pqxx::connection lost(url);
  pqxx::work first(lost);
  first.exec("INSERT INTO orders VALUES (1, 0, 0, true, 1, 1, 1, 0, 0, 0)");
  first.exec("UPDATE projection SET batch = 1, orders = 1");
  Rows rows;
  rows.orders.push_back({.id = 1, .shares = Shares::from_units(1), .open = Shares::from_units(1)});
  rows.totals.orders = 1;
  auto again = std::async(std::launch::async, [&] { store.tables().project(rows, 1); });
  CHECK(again.wait_for(std::chrono::milliseconds(300)) == std::future_status::timeout);
  first.commit();
  CHECK_NOTHROW(again.get());
}

TEST_CASE("rows that contradict a projection are not retryable") {
  TemporaryFolder folder;
  const std::string path = folder / "x.db", url = shared_cluster().create_database();
  const char* const in_the_way = "INSERT INTO accounts VALUES (7, '1', '0', 0)";
  const auto refuses = [](Store& store) {
    CHECK_THROWS_AS(store.tables().project(one_account(), 1), StoreCorrupt);
    CHECK_THROWS_WITH(store.tables().project(one_account(), 1),
                      contains_text("the tables do not take batch 1; restore"));
    CHECK(store.tables().load().rows.accounts.size() == 1);
  };
  SECTION("SQLite") {
    SqliteStore store(path);
    store.open();
    run_sqlite(path, in_the_way);
    refuses(store);
    store.journal().append(1, "payload");
    CHECK_THROWS_AS(store.journal().append(1, "payload"),
                    StoreUnavailable);  // retryable: resolve_in_doubt() finds it
  }
  SECTION("PostgreSQL") {
    PostgresStore store(url);
    store.open();
    run_postgres(url, in_the_way);
    refuses(store);
  }
}

TEST_CASE(
    "what PostgreSQL committed survives a crash, even if its role turns synchronous_commit off") {
  PostgresCluster cluster;
  const std::string url = cluster.create_database();
  const auto run = [&](const std::string& sql) { run_postgres(url, sql); };
  run("ALTER ROLE exchange SET synchronous_commit = off");
  run("ALTER SYSTEM SET wal_writer_delay = '10s'");
  run("SELECT pg_reload_conf()");
  constexpr BatchNumber batches = 20;
  {
    PostgresStore store(url);
    store.open();
    for (BatchNumber batch = 1; batch <= batches; ++batch) store.journal().append(batch, "payload");
    cluster.kill();
  }
  cluster.start();
  PostgresStore store(url);
  store.open();
  CHECK(journal_after(store, 0).size() == batches);
}

TEST_CASE("damaged rows are refused with a reason") {
  TemporaryFolder folder;
  const std::string path = folder / "x.db";
  {
    SqliteStore store(path);
    store.open();
    Exchange exchange;
    commit(store, exchange, 1, {CreateAccount{AccountId("1"), Cash::whole(1)}});
    project(store, exchange, 1);
  }
  const auto load_error = [&](const std::string& sql) {
    run_sqlite(path, sql);
    return start(SqliteStore(path));
  };
  CHECK_THAT(load_error("UPDATE accounts SET balance_e16 = 'much'"),
             contains_text("not an amount of cash"));
  CHECK_THAT(load_error("UPDATE accounts SET balance_e16 = '5'"),
             contains_text("cash not conserved"));
  CHECK_THAT(load_error("UPDATE accounts SET balance_e16 = '10000000000000000', id = 'x'"),
             contains_text("not an account id"));
  CHECK(load_error("UPDATE accounts SET id = '1'") == "batch 1");
}
