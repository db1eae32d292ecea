// Files that are missing, swapped, empty, written by another program or not permitted. Every
// refusal names the file, the problem and the remedy, and changes nothing.

#include "catch.hpp"

#include <sys/stat.h>

#include "durability/place.hpp"
#include "durability/simulated_disk.hpp"
#include "support/stores.hpp"

using namespace exchange;
using namespace exchange::testing;
namespace fs = std::filesystem;

TEST_CASE_METHOD(Place, "a killed store starts again with all its batches") {
  make("x", true);
  CHECK(start() == "batch 9");
  CHECK(start() == "batch 9");
}

TEST_CASE_METHOD(Place,
                 "a log that is longer than what SQLite's VFS writes at once starts again too") {
  make("x", true);
  run_and_kill([&] {
    auto* const store = new SqliteStore(db());
    store->open();
    Exchange exchange = recover(*store).exchange;
    for (int i = 0; i < 8'000; ++i)
      exchange.apply(CreateAccount{AccountId(std::to_string(1'000 + i)), Cash()}, {});
    project(*store, exchange, 9);
  });
  CHECK(fs::file_size(db() + "-wal") > 256 * 1024);
  CHECK_THAT(start(), contains_text("the tables are not what journal batch 9 led to"));
}

TEST_CASE_METHOD(Place, "files that are missing or empty are named, and nothing else is touched") {
  const bool emptied = GENERATE(false, true);
  make("x", true);
  const auto lose = [&](const std::string& file) {
    emptied ? fs::resize_file(file, 0) : void(fs::remove(file));
  };
  SECTION("the journal") {
    lose(db() + ".journal");
    CHECK_THAT(start(), contains_text("x.db.journal is missing or empty") &&
                            contains_text("put the journal back"));
  }
  SECTION("the end of the journal") {
    const std::string bytes = contents(db() + ".journal");
    const std::size_t first_block_end = 4'096 + JournalFile::usual_block_bytes;
    const std::size_t last = bytes.find_last_not_of('\0', first_block_end - 1);
    std::fstream file(db() + ".journal", std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(std::streamoff(last)).put(char(bytes[last] ^ 1));
    file.close();
    CHECK_THAT(start(), contains_text("ends with batch 8, but batch 9 was acknowledged") &&
                            contains_text("put it back") &&
                            contains_text("remove " + db() + ".lock"));
    lose(db() + ".lock");  // as a crash in the last append leaves it
    CHECK(start() == "batch 8");
  }
  SECTION("most of the journal") {
    fs::resize_file(db() + ".journal", 4'100);
    CHECK_THAT(start(), contains_text("x.db.journal: it is cut short") &&
                            contains_text("restore the store from a backup"));
  }
  SECTION("the beginning of the journal, and the tables") {
    std::fstream(db() + ".journal", std::ios::in | std::ios::out | std::ios::binary)
        .write(std::string(512, '\0').data(), 512);
    const std::string journal = contents(db() + ".journal");
    lose(db());
    CHECK_THAT(start(), contains_text("x.db.journal: its header is damaged"));
    CHECK(contents(db() + ".journal") == journal);
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
    store.tables().project(rows, recovered.last_batch);
    CHECK(recover(store).logins.size() == 1);
  }
  SECTION("both, but not their logs") {
    lose(db());
    lose(db() + ".journal");
    CHECK_THAT(start(),
               contains_text("x.db-wal is there, but the database that it belongs to is not") &&
                   contains_text("for a new store"));
  }
}

TEST_CASE_METHOD(Place, "tables that are missing are not rebuilt from a journal that was pruned") {
  {
    SqliteStore store(db(), 256);
    store.open();
    fill(store, 1, 9, 8);
    prune(store, 7);
    fill(store, 10, 14, 0);
  }
  fs::rename(db(), db("kept"));
  CHECK_THAT(start(), contains_text("does not go back to the first batch") &&
                          contains_text("put the tables back"));
  fs::rename(db("kept"), db());
  CHECK(start() == "batch 14");
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
    CHECK_THAT(start(),
               contains_text("x.db.journal: its header is damaged, or it is not a journal"));
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
  SECTION("an older server's tables, or a newer one's") {
    const auto [format, message] = GENERATE(
        table<int, const char*>({{2, "x.db was written by a version before 1.0: "},
                                 {203, "x.db was written by version 2.3 or newer: start that"}}));
    SqliteDatabase(db(), SqliteDatabase::Use::write)
        .run(("PRAGMA user_version = " + std::to_string(format)).c_str());
    CHECK_THAT(start(), contains_text(message));
  }
  SECTION("an older server's journal") {
    fs::remove(db() + ".journal");
    run_shell("CREATE TABLE journal (x); PRAGMA user_version = 2", db() + ".journal");
    CHECK_THAT(start(), contains_text("x.db.journal was written by a version before 1.0: "));
  }
  SECTION("tables without checksums") {
    REQUIRE(std::system(
                ("sqlite3 '" + db() + "' .dump | sqlite3 '" + db("dumped") + "'").c_str()) == 0);
    run_shell("PRAGMA user_version = 100; PRAGMA journal_mode = WAL", db("dumped"));
    fs::rename(db("dumped"), db());
    CHECK_THAT(start(), contains_text("its pages have no checksums; restore the store from a"));
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
  fs::copy_file(db("y") + "-wal", db() + "-wal");
  CHECK_THAT(start(), contains_text("; restore") || contains_text("; put back"));
}

TEST_CASE_METHOD(Place, "tables of a backup under a newer log are refused, and stay as they are") {
  const bool checkpointed = GENERATE(true, false);
  make("x", false);
  fs::copy_file(db(), db("backup"));
  if (checkpointed) {  // the log no longer contains what it moves into the file
    SqliteStore store(db());
    store.open();
    fill(store, 10, 12, 12);
  }
  fill_and_be_killed("x", checkpointed ? 13 : 10, 15, 14);
  fs::copy_file(db("backup"), db(), fs::copy_options::overwrite_existing);
  const std::string tables = contents(db()), log = contents(db() + "-wal");
  if (!checkpointed) {  // the log continues where the backup ends
    CHECK(start() == "batch 15");
    return;
  }
  CHECK_THAT(start(), contains_text("x.db-wal is newer than") && contains_text("remove the log"));
  CHECK(contents(db()) == tables);
  CHECK(contents(db() + "-wal") == log);
  fs::remove(db() + "-wal");
  CHECK(start() == "batch 15");
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
    // Root has all permissions, so the test acts as another user for a moment.
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
    CHECK_FALSE(fs::exists(db() + "-wal"));
    CHECK(start() == "batch 9");
  }
  SECTION("a row changed while no server runs") {
    start();
    run_shell("UPDATE accounts SET balance_e16 = '5'", db());
    CHECK_THAT(start(), contains_text("changed by another program"));
  }
  SECTION("a copy by its .backup is a store") {
    start();
    REQUIRE(std::system(("sqlite3 '" + db() + "' \".backup '" + db("copy") + "'\"").c_str()) == 0);
    fs::copy_file(db() + ".journal", db("copy") + ".journal");
    CHECK(start("copy") == "batch 9");
  }
  SECTION("a copy by VACUUM INTO is a store") {
    start();
    run_shell("VACUUM INTO '" + db("copy") + "'", db());
    fs::copy_file(db() + ".journal", db("copy") + ".journal");
    CHECK(start("copy") == "batch 9");
  }
}
