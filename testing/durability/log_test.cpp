// What a write-ahead log may contain behind its end, and where the log may be.

#include "catch.hpp"

#include "durability/place.hpp"
#include "durability/simulated_disk.hpp"
#include "store/sqlite/sqlite_log.hpp"

using namespace exchange;
using namespace exchange::testing;
namespace fs = std::filesystem;

namespace {

constexpr std::size_t page_at = 24 + 1'000;  // some byte of a frame's page

// A database whose log can be cut, damaged and examined.
struct LoggedDatabase {
  SimulatedDisk::Bytes& log() { return disk.bytes_of(path + "-wal"); }
  static void put(SqliteDatabase& database, int rows) {
    for (int i = 0; i < rows; ++i) database.run("INSERT INTO t VALUES (randomblob(3000))");
  }
  static void put_at_once(SqliteDatabase& database, int rows) {
    database.run("BEGIN");
    put(database, rows);
    database.run("COMMIT");
  }
  // Opens `files` after `damage` to the log, and returns what it finds there.
  template <class Damage>
  std::string reopened(Damage damage) {
    auto damaged = files;
    damage(damaged.at(path + "-wal"));
    disk.set_files(damaged);
    try {
      SqliteDatabase database(path, SqliteDatabase::Use::write);
      SqliteStatement rows(database, "SELECT count(*) FROM t");
      rows.step();
      return std::to_string(rows.integer(0)) + " rows";
    } catch (const StoreCorrupt& error) {
      return error.what();
    }
  }
  TemporaryFolder folder;
  SimulatedDisk disk{5};
  const std::string path = folder / "x.db";
  std::map<std::string, SimulatedDisk::Bytes> files;  // that a crash left
  std::size_t end = 0;                                // of the log's first commits
};

}  // namespace

TEST_CASE_METHOD(LoggedDatabase,
                 "rolled-back frames behind the end of a log are not later commits") {
  {
    SqliteDatabase database(path, SqliteDatabase::Use::write);
    database.run("PRAGMA cache_size = 5; CREATE TABLE t (x)");
    put(database, 4);
    end = log().size();
    database.run("BEGIN");
    put(database, 100);
    database.run("ROLLBACK");
    REQUIRE(log().size() > end + 10 * 4'120);
    put_at_once(database, 3);
    files = disk.files();
  }
  CHECK(reopened([&](auto&) {}) == "7 rows");
  CHECK(reopened([&](auto& log) { log[end + page_at] ^= 1; }) == "4 rows");
  CHECK_THAT(reopened([&](auto& log) { log[32 + page_at] ^= 1; }),
             contains_text("frame 1 is damaged, and later commits follow"));
}

TEST_CASE_METHOD(LoggedDatabase,
                 "a damaged commit is reported also if a crash cut short the one after it") {
  {
    SqliteDatabase database(path, SqliteDatabase::Use::write);
    database.run("CREATE TABLE t (x)");
    put_at_once(database, 4);
    end = log().size();
    put_at_once(database, 4);
    files = disk.files();
  }
  REQUIRE(files.at(path + "-wal").size() >= end + 3 * 4'120);
  CHECK_THAT(reopened([&](auto& log) {
               log[end - 4'120 + page_at] ^= 1;
               log.resize(log.size() - 4'120);
             }),
             contains_text("is damaged, and later commits follow"));
}

TEST_CASE_METHOD(
    LoggedDatabase,
    "what a crash left behind a log's end is removed, also while another program reads") {
  {
    SqliteDatabase database(path, SqliteDatabase::Use::write);
    database.run("CREATE TABLE t (x)");
    put(database, 2);
    end = log().size();
    put_at_once(database, 8);  // in progress at the crash
    files = disk.files();
  }
  files.at(path + "-wal")[end + page_at] ^= 1;
  disk.set_files(files);
  {
    SqliteDatabase user(path, SqliteDatabase::Use::read);
    user.run("BEGIN");
    SqliteStatement rows(user, "SELECT count(*) FROM t");
    REQUIRE(rows.step());
    REQUIRE(rows.integer(0) == 2);
    SqliteDatabase database(path, SqliteDatabase::Use::write);
    CHECK(log().size() == end);
    put_at_once(database, 3);
    files = disk.files();
  }
  CHECK(reopened([&](auto&) {}) == "5 rows");
  // the damage of the next crash
  CHECK(reopened([&](auto& log) { log[end + page_at] ^= 1; }) == "2 rows");
}

TEST_CASE_METHOD(LoggedDatabase, "a connection reads what it wrote to the log before its commit") {
  SqliteDatabase database(path, SqliteDatabase::Use::write);
  database.run("PRAGMA cache_size = 5; CREATE TABLE t (x)");
  database.run("BEGIN");
  for (int rows = 1; rows <= 40; ++rows) {
    put(database, 1);
    SqliteStatement sum(database, "SELECT sum(length(x)) FROM t");
    REQUIRE(sum.step());
    REQUIRE(sum.integer(0) == rows * 3'000);
  }
  database.run("COMMIT");
}

TEST_CASE_METHOD(LoggedDatabase,
                 "a transaction whose writes failed in a read is committed whole, or not at all") {
  int rows = 0;
  {
    SqliteDatabase database(path, SqliteDatabase::Use::write);
    database.run("PRAGMA cache_size = 5; CREATE TABLE t (x)");
    database.run("BEGIN");
    bool failed = false;
    while (!failed && rows < 40) {
      put(database, 1);
      ++rows;
      disk.full = [&](const std::string& name) { return name == path + "-wal"; };
      try {
        SqliteStatement sum(database, "SELECT sum(length(x)) FROM t");
        sum.step();
      } catch (const StoreUnavailable&) {
        failed = true;
      }
      disk.full = nullptr;
    }
    REQUIRE(failed);
    try {
      database.run("COMMIT");
    } catch (const StoreUnavailable&) {  // SQLite rolled the transaction back
      rows = 0;
    }
    files = disk.files();
  }
  CHECK(reopened([](auto&) {}) == std::to_string(rows) + " rows");
}

TEST_CASE_METHOD(LoggedDatabase,
                 "rolled-back frames never reach the log after another connection's commit") {
  {
    SqliteDatabase one(path, SqliteDatabase::Use::write);
    one.run("PRAGMA cache_size = 5; CREATE TABLE t (x)");
    SqliteDatabase other(path, SqliteDatabase::Use::write);
    put(one, 1);
    one.run("BEGIN");
    put(one, 20);
    one.run("ROLLBACK");
    put_at_once(other, 50);
    put(one, 1);
    files = disk.files();
  }
  CHECK(reopened([](auto&) {}) == "52 rows");
}

TEST_CASE_METHOD(LoggedDatabase,
                 "rolled-back frames do not damage the next commit of a connection that is alone") {
  {
    SqliteDatabase database(path, SqliteDatabase::Use::write);
    database.run("PRAGMA cache_size = 5; PRAGMA locking_mode = EXCLUSIVE; CREATE TABLE t (x)");
    put(database, 1);
    for (const int rows : {3, 20, 50}) {
      database.run("BEGIN");
      put(database, rows);
      database.run("ROLLBACK");
      put_at_once(database, 4);
    }
    files = disk.files();
  }
  CHECK(reopened([](auto&) {}) == "13 rows");
}

TEST_CASE_METHOD(LoggedDatabase, "a log that cannot be read is not cut short") {
  {
    SqliteDatabase database(path, SqliteDatabase::Use::write);
    database.run("CREATE TABLE t (x)");
    put(database, 6);
    files = disk.files();
  }
  disk.set_files(files);
  const std::uint64_t bad = files.at(path + "-wal").size() / 2;
  disk.unreadable = [&](const std::string& name, std::uint64_t from, std::uint64_t to) {
    return name == path + "-wal" && from <= bad && bad < to;
  };
  CHECK_THROWS_WITH(SqliteDatabase(path, SqliteDatabase::Use::write),
                    contains_text(path + "-wal cannot be read"));
  CHECK(disk.files() == files);
  CHECK_THROWS_AS(find_log_damage(path), StoreUnavailable);
  disk.unreadable = nullptr;
  CHECK(reopened([](auto&) {}) == "6 rows");
}

TEST_CASE_METHOD(Place, "a file behind a symbolic link has its log beside it") {
  make("x", true);
  fs::create_directory(folder / "elsewhere");
  const std::string there = folder / "elsewhere/t";
  for (const char* part : {"", "-wal"}) fs::rename(db() + part, there + part);
  fs::create_symlink("elsewhere/t", db());
  fs::rename(db() + ".journal", folder / "elsewhere/j");
  fs::create_symlink("elsewhere/j", db() + ".journal");
  SECTION("found") {
    CHECK(start() == "batch 9");
    CHECK(fs::is_symlink(db() + ".journal"));
  }
  SECTION("damaged") {
    std::fstream(there + "-wal", std::ios::in | std::ios::out | std::ios::binary)
        .seekp(32 + page_at)
        .put('\x7F');
    CHECK_THAT(start(),
               contains_text("elsewhere/t-wal: frame 1 is damaged, and later commits follow"));
  }
  SECTION("left behind alone") {
    for (const std::string& file : {there, std::string(folder / "elsewhere/j")}) fs::remove(file);
    CHECK_THAT(
        start(),
        contains_text("elsewhere/t-wal is there, but the database that it belongs to is not"));
  }
}

TEST_CASE(
    "a failed checkpoint is not a failed projection: the log keeps it, and one line reports it") {
  TemporaryFolder folder;
  SimulatedDisk disk(7);
  const std::string path = folder / "x.db";
  SqliteStore store(path);
  store.open();
  Exchange exchange;
  for (int i = 0; i < 5'000; ++i)
    exchange.apply(CreateAccount{AccountId(std::to_string(1'000'000 + i)), Cash::whole(1)}, {});
  Rows rows;
  exchange.take_changes(rows);
  disk.full = [&](const std::string& name) { return name == path; };
  std::optional<CapturedLog> log(std::in_place);
  std::uint64_t projections = 0;
  for (; projections < 1'000 && disk.bytes_of(path + "-wal").size() < 17'000'000; ++projections) {
    // a change, else SQLite writes nothing
    for (AccountRow& row : rows.accounts) row.balance = Cash::whole(std::int64_t(projections));
    CHECK_NOTHROW(store.tables().project(rows, 1));
  }
  CHECK_NOTHROW(store.tables().project(rows, 2));
  const std::string logged = log->text();
  disk.full = nullptr;
  CHECK_NOTHROW(store.tables().project(rows, 3));
  log.reset();
  REQUIRE(projections < 1'000);
  const auto first = logged.find("checkpoint failed, ");
  CHECK(first != std::string::npos);
  CHECK(logged.find("checkpoint failed, ", first + 10) == std::string::npos);
  CHECK(store.tables().load().projected_batch == 3);
  SqliteDatabase(path, SqliteDatabase::Use::read);
  CHECK(disk.bytes_of(path).size() > 50 * 4'096);
}
