// Files that are missing, swapped, empty, of another program or without permission. Every refusal
// names the file, the problem and what to do, and changes nothing.

#include "catch.hpp"

#include <sys/stat.h>

#include "durability/place.hpp"
#include "durability/simulated_disk.hpp"

using namespace exchange;
using namespace exchange::testing;
namespace fs = std::filesystem;

TEST_CASE_METHOD(Place, "a killed store starts again with all its batches") {
  make("x", true);
  CHECK(fs::file_size(db() + ".journal-wal") > 0);
  CHECK(start() == "batch 9");
  CHECK(start() == "batch 9");
}

TEST_CASE_METHOD(Place,
                 "a log that is longer than what SQLite's VFS writes at once starts again too") {
  fill_and_be_killed("x", 1, 99, 50);
  CHECK(fs::file_size(db() + ".journal-wal") > 256 * 1024);
  CHECK(start() == "batch 99");
}

TEST_CASE_METHOD(Place, "files that are missing or empty are named, and nothing else is touched") {
  const bool emptied = GENERATE(false, true);
  make("x", true);
  const auto lose = [&](const std::string& file) {
    emptied ? fs::resize_file(file, 0) : void(fs::remove(file));
  };
  SECTION("the journal") {
    const std::string log = contents(db() + ".journal-wal");
    lose(db() + ".journal");
    CHECK_THAT(start(), contains_text("x.db.journal is missing or empty") &&
                            contains_text("put the journal back"));
    CHECK(contents(db() + ".journal-wal") == log);
  }
  SECTION("the journal's log") {
    lose(db() + ".journal-wal");
    CHECK_THAT(start(), contains_text("but batch 9 was acknowledged") &&
                            contains_text("put it back") &&
                            contains_text("remove " + db() + ".lock"));
  }
  SECTION("the journal's log, and the mark with it") {
    lose(db() + ".journal-wal");
    lose(db() + ".lock");
    CHECK_THAT(start(), contains_text("ends before batch 7") &&
                            contains_text("restore the store from a backup"));
  }
  SECTION("the tables' log: the journal replays") {
    lose(db() + "-wal");
    CHECK(start() == "batch 9");
  }
  SECTION("the tables: they are rebuilt from the whole journal") {
    lose(db());
    CHECK(start() == "batch 9");
    SqliteStore store(db());
    store.open();
    Recovered recovered = recover(store);
    Rows rows;
    recovered.exchange.take_changes(rows);
    CHECK(rows.account_keys.size() == 1);
    store.project(rows, recovered.last_batch);
    CHECK(recover(store).keys.size() == 1);
  }
  SECTION("both, but not their logs") {
    lose(db());
    lose(db() + ".journal");
    CHECK_THAT(
        start(),
        contains_text("x.db.journal-wal is there, but the database that it belongs to is not") &&
            contains_text("for a new store"));
  }
}

TEST_CASE_METHOD(Place, "tables that are missing are not rebuilt from a journal that was pruned") {
  {
    SqliteStore store(db());
    store.open();
    fill(store, 1, 9, 5);
    store.prune(3);
    fill(store, 10, 10, 0);
  }
  fs::rename(db(), db("kept"));
  CHECK_THAT(start(), contains_text("does not go back to the first batch") &&
                          contains_text("put the tables back"));
  fs::rename(db("kept"), db());
  CHECK(start() == "batch 10");
}

TEST_CASE_METHOD(
    Place,
    "swapped files, and files of other stores or programs, are refused and left as they are") {
  make("x", false);
  make("y", false);
  SECTION("tables and journal swapped") {
    fs::rename(db(), db("t"));
    fs::rename(db() + ".journal", db());
    fs::rename(db("t"), db() + ".journal");
    const std::string tables = contents(db());
    CHECK_THAT(start(), contains_text("x.db.journal has no table 'journal'") &&
                            contains_text("put the right file back"));
    CHECK(contents(db()) == tables);
  }
  for (const char* const part : {"", ".journal"}) DYNAMIC_SECTION("another store's .db" << part) {
      fs::copy_file(db("y") + part, db() + part, fs::copy_options::overwrite_existing);
      CHECK_THAT(start(), contains_text("belong to different stores"));
    }
  SECTION("another program's database") {
    fs::remove(db());
    run_shell("CREATE TABLE t (x); INSERT INTO t VALUES (1); PRAGMA user_version = 1", db());
    CHECK_THAT(start(), contains_text("x.db has no table 'projection'"));
  }
  SECTION("no database") {
    std::ofstream(db()) << std::string(10'000, 'x');
    CHECK_THAT(start(),
               contains_text("damaged") && contains_text("restore the store from a backup"));
  }
  SECTION("a newer server's") {
    SqliteDatabase(db(), SqliteDatabase::Use::write).run("PRAGMA user_version = 99");
    CHECK_THAT(start(), contains_text("another version of the exchange (schema 99") &&
                            contains_text("start the server that wrote it"));
  }
  SECTION("cut in the middle") {
    fs::resize_file(db(), fs::file_size(db()) / 2);
    CHECK_THAT(start(), contains_text("x.db") && contains_text("restore the store from a backup"));
  }
  SECTION("untouched") { CHECK(start() == "batch 9"); }
}

TEST_CASE_METHOD(Place, "a log that was left behind by another database is refused") {
  make("x", false);
  make("y", true);
  for (const char* const part : {"-wal", ".journal-wal"})
    DYNAMIC_SECTION("another store's .db" << part) {
      fs::copy_file(db("y") + part, db() + part);
      CHECK_THAT(start(), contains_text("; restore") || contains_text("; put back"));
    }
}

TEST_CASE_METHOD(Place, "a missing folder and files without permission are reported") {
  SECTION("no folder") {
    SqliteStore store(folder / "none/x.db");
    CHECK_THROWS_WITH(store.open(),
                      contains_text("cannot create") && contains_text("does the folder exist"));
  }
  SECTION("a folder in the place of a file") {
    fs::create_directory(db());
    CHECK_THAT(start(), contains_text("x.db") && contains_text("; "));
  }
  SECTION("rights") {
    make("x", false);
    if (::geteuid() != 0) fs::permissions(db(), fs::perms::owner_read);
    // Root has all permissions: act as another user for a moment.
    constexpr uid_t other_user = 65'534;
    if (::geteuid() == 0) {
      fs::permissions(folder.path(),
                      fs::perms::owner_all | fs::perms::others_read | fs::perms::others_exec);
      fs::permissions(db() + ".lock",
                      fs::perms::all & ~(fs::perms::owner_exec | fs::perms::group_exec |
                                         fs::perms::others_exec));
      REQUIRE(::seteuid(other_user) == 0);
    }
    const std::string message = start();
    if (::getuid() == 0) REQUIRE(::seteuid(0) == 0);
    CHECK_THAT(message, contains_text("x.db") && (contains_text("give this user the right") ||
                                                  contains_text("may this user write")));
  }
}

TEST_CASE_METHOD(
    Place, "a full disk is reported at the start, and the start succeeds once there is space") {
  SimulatedDisk disk(3);
  {
    SqliteStore store(db());
    disk.plan(1, SimulatedDisk::Fault::full, 1'000'000);
    CHECK_THROWS_WITH(store.open(), contains_text("full") && contains_text("free some space"));
  }
  disk.plan(0, SimulatedDisk::Fault::none);
  make("x", false);
  CHECK(start() == "batch 9");
}

TEST_CASE_METHOD(
    Place, "other programs may read the files and copy the log; what they change is refused") {
  make("x", true);
  SECTION("the last to close copies the log into the file") {
    run_shell("SELECT count(*) FROM accounts", db());
    run_shell("SELECT count(*) FROM journal", db() + ".journal");
    CHECK_FALSE(fs::exists(db() + "-wal"));
    CHECK_FALSE(fs::exists(db() + ".journal-wal"));
    CHECK(start() == "batch 9");
  }
  SECTION("a row changed while no server runs") {
    start();
    run_shell("UPDATE accounts SET balance_e16 = '5'", db());
    CHECK_THAT(start(), contains_text("changed by another program"));
  }
  SECTION("a copy by its .backup is a store") {
    start();
    for (const char* file : {"", ".journal"})
      REQUIRE(std::system(("sqlite3 '" + db() + file + "' \".backup '" + db("copy") + file + "'\"")
                              .c_str()) == 0);
    CHECK(start("copy") == "batch 9");
  }
  SECTION("a copy by VACUUM INTO is a store") {
    start();
    for (const char* file : {"", ".journal"})
      run_shell("VACUUM INTO '" + db("copy") + file + "'", db() + file);
    CHECK(start("copy") == "batch 9");
  }
}
