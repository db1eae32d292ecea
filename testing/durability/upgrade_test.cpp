// Stores of servers from before page checksums: they get them if the disk has space, and start also
// if it has none.

#include "catch.hpp"

#include <sqlite3.h>

#include "durability/place.hpp"
#include "durability/simulated_disk.hpp"
#include "store/sqlite/checksum_vfs.hpp"
#include "system/crash/small_disk.hpp"

using namespace exchange;
using namespace exchange::testing;
namespace fs = std::filesystem;

namespace {

struct OldStore : Place {
  OldStore() {
    make("x", false);
    make_old();
  }
  // So that a copy of the tables needs six megabytes.
  void make_large() const {
    run_shell(
        "CREATE TABLE padding AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n "
        "WHERE i < 2000) SELECT randomblob(3000) FROM n",
        db());
  }
  void put_on(SimulatedDisk& disk) const {
    std::map<std::string, SimulatedDisk::Bytes> files;
    for (const std::string& file : {db(), db() + ".journal"}) {
      const std::string bytes = contents(file);
      files[file].assign(bytes.begin(), bytes.end());
    }
    disk.set_files(files);
  }
};

// Of the bytes of a file.
template <class Bytes>
int version_in(const Bytes& bytes) {
  return bytes[63];
}

}  // namespace

TEST_CASE_METHOD(
    OldStore,
    "files without page checksums get them at the next start, and older servers refuse them") {
  CHECK(start() == "batch 9");
  CHECK(contents(db())[20] == checksum_bytes);
  CHECK(version_in(contents(db())) == 2);
  std::fstream damaged(db(), std::ios::in | std::ios::out | std::ios::binary);
  damaged.seekp(4'096 + 4'000).put('x');
  damaged.close();
  CHECK_THAT(start(), contains_text("page 2 (byte 4096) fails its checksum"));
}

TEST_CASE_METHOD(Place, "files with page checksums have a version of their own") {
  make("x", false);
  CHECK(version_in(contents(db())) == 2);
  SqliteDatabase(db(), SqliteDatabase::Use::write).run("PRAGMA user_version = 1");
  REQUIRE(version_in(contents(db())) == 1);
  CHECK(start() == "batch 9");
  CHECK(version_in(contents(db())) == 2);
}

TEST_CASE_METHOD(
    OldStore,
    "an old store whose rewriting fills the disk starts as it is, in the same disk space") {
  make_large();
  SimulatedDisk disk(3);
  put_on(disk);
  // Enough for the journal's rewriting, not for that of the tables.
  const std::uint64_t capacity = disk.used() + 2 * JournalFile::usual_block_bytes + 2'500'000;
  disk.full = [&](const std::string& name, std::uint64_t bytes) {
    return !name.empty() && disk.used() - disk.bytes_of(name).size() + bytes > capacity;
  };
  for (int i = 0; i < 3; ++i) {
    CHECK(start() == "batch 9");
    CHECK(disk.used() < capacity - 100'000);
    const auto files = disk.files();
    CHECK(JournalFile::is_complete(db() + ".journal"));
    CHECK(version_in(files.at(db())) == 1);
    CHECK(files.at(db())[20] == 0);
  }
  disk.full = nullptr;
  CHECK(start() == "batch 9");
  CHECK(version_in(disk.files().at(db())) == 2);
}

TEST_CASE_METHOD(OldStore, "an old store is rewritten through a temporary file, not in memory") {
  make_large();
  SimulatedDisk disk(3);
  put_on(disk);
  std::uint64_t temporary = 0;
  disk.full = [&](const std::string& name, std::uint64_t bytes) {
    if (name.empty()) temporary = std::max(temporary, bytes);
    return false;
  };
  CHECK(start() == "batch 9");
  CHECK(disk.files().at(db())[20] == checksum_bytes);
  CHECK(temporary > 2'000'000);
}

TEST_CASE_METHOD(OldStore, "an old store is not rewritten without disk space for it") {
  constexpr unsigned mebibytes = 16;
  const SmallDisk disk(mebibytes);
  if (!disk.why_not().empty()) {
    WARN("not run: " << disk.why_not());
    return;
  }
  make_large();
  const std::string place = disk.path() + "/x";
  for (const char* file : {"", ".journal"}) fs::copy_file(db() + file, db(place) + file);
  const CapturedLog log;
  CHECK(start(place) == "batch 9");
  CHECK_THAT(log.text(),
             contains_text("its pages carry no checksums") && contains_text("MiB free, and "));
  CHECK(contents(db(place))[20] == 0);
}

TEST_CASE_METHOD(
    OldStore, "commits of an old store's tables that a power cut took out of order are replayed") {
  run_and_kill([&] {  // as the old server
    sqlite3* tables = nullptr;
    ENSURE(sqlite3_open(db().c_str(), &tables) == SQLITE_OK);
    for (int i = 0; i < 5; ++i)
      ENSURE(sqlite3_exec(tables,
                          "PRAGMA synchronous = NORMAL; UPDATE projection SET epoch = epoch + 1",
                          nullptr, nullptr, nullptr) == SQLITE_OK);
  });
  std::fstream log(db() + "-wal", std::ios::in | std::ios::out | std::ios::binary);
  log.seekp(32 + 4'120 + 24 + 1'000).put('x');
  log.close();
  CHECK(start() == "batch 9");
}

namespace {

struct OldJournal : Place {
  void make_old_with(bool checksums) const {
    make("x", false);
    make_old_journal("x", checksums);
  }
  std::vector<JournalRow> rows() const { return read_journal_file(db() + ".journal").rows; }
};

bool same(const std::vector<JournalRow>& a, const std::vector<JournalRow>& b) {
  return std::equal(
      a.begin(), a.end(), b.begin(), b.end(), [](const JournalRow& one, const JournalRow& other) {
        return one.batch == other.batch && one.epoch == other.epoch && one.payload == other.payload;
      });
}

}  // namespace

TEST_CASE_METHOD(OldJournal, "the journal of an older server is rewritten with the same batches") {
  const bool checksums = GENERATE(false, true);
  make("x", false);
  const std::vector<JournalRow> before = rows();
  REQUIRE(before.size() == 9);
  make_old_journal("x", checksums);
  CHECK(start() == "batch 9");
  CHECK(same(rows(), before));
  CHECK(start() == "batch 9");
  for (const char* const left : {".journal-new", ".journal-wal", ".journal-shm"})
    CHECK_FALSE(fs::exists(db() + left));
}

TEST_CASE_METHOD(OldJournal,
                 "the pruned journal of an older server is rewritten, and stays pruned") {
  make_old_with(true);
  SqliteDatabase(db() + ".journal", SqliteDatabase::Use::write)
      .run("DELETE FROM journal WHERE batch < 6");
  CHECK(start() == "batch 9");
  CHECK(rows().front().batch == 6);
  fs::remove(db());
  CHECK_THAT(start(), contains_text("does not go back to the first batch"));
}

TEST_CASE_METHOD(OldJournal, "an old journal without its log is refused, and may be put back") {
  make_old_with(true);
  const std::string journal = db() + ".journal";
  // As an old server that was killed: its newest batch is in the log.
  SqliteDatabase(journal, SqliteDatabase::Use::write)
      .run(
          "CREATE TABLE later AS SELECT * FROM journal WHERE batch = 9; "
          "DELETE FROM journal WHERE batch = 9");
  run_and_kill([&] {
    auto* const killed = new SqliteDatabase(journal, SqliteDatabase::Use::write);
    killed->run("INSERT INTO journal SELECT * FROM later");
  });
  fs::rename(journal + "-wal", db("kept"));
  CHECK_THAT(start(), contains_text("ends with batch 8, but batch 9 was acknowledged"));
  CHECK(contents(journal).starts_with("SQLite format 3"));
  fs::rename(db("kept"), journal + "-wal");
  CHECK(start() == "batch 9");
}

TEST_CASE_METHOD(OldJournal, "the file of an old journal keeps its rights and the links to it") {
  make_old_with(true);
  fs::create_directory(folder / "elsewhere");
  const std::string there = folder / "elsewhere/exchange-journal";
  fs::rename(db() + ".journal", there);
  fs::create_symlink("elsewhere/exchange-journal", db() + ".journal");
  fs::permissions(there, fs::perms::owner_read | fs::perms::owner_write);
  CHECK(start() == "batch 9");
  CHECK(fs::is_symlink(db() + ".journal"));
  CHECK(fs::status(there).permissions() == (fs::perms::owner_read | fs::perms::owner_write));
  CHECK(JournalFile::is_complete(there));
}

TEST_CASE_METHOD(OldJournal, "a damaged journal of an older server is refused and left as it is") {
  make_old_with(true);
  std::fstream(db() + ".journal", std::ios::in | std::ios::out | std::ios::binary)
      .seekp(4'096 + 4'000)
      .put('x');
  const std::string damaged = contents(db() + ".journal");
  CHECK_THAT(start(), contains_text("fails its checksum") && contains_text("restore"));
  CHECK(contents(db() + ".journal") == damaged);
}

TEST_CASE_METHOD(OldJournal, "every operation of the rewriting of an old journal may be the last") {
  make("x", false);
  const std::vector<JournalRow> before = rows();
  make_old_journal("x", true);
  std::map<std::string, SimulatedDisk::Bytes> files;
  for (const std::string& file : {db(), db() + ".journal"}) {
    const std::string bytes = contents(file);
    files[file].assign(bytes.begin(), bytes.end());
  }
  const bool full = GENERATE(false, true);
  std::uint64_t stops = 0;
  for (std::uint64_t at = 1;; ++at) {
    INFO("operation " << at);
    SimulatedDisk disk(at);
    disk.set_files(files);
    disk.plan(disk.operations() + at,
              full ? SimulatedDisk::Fault::full : SimulatedDisk::Fault::power_cut);
    bool opened = false;
    try {
      SqliteStore store(db(), 256);
      store.open();
      opened = true;
    } catch (const std::runtime_error&) {
    }
    const bool met = disk.stopped() || disk.faults_met() > 0;
    stops += met;
    disk.restart();
    CHECK(start() == "batch 9");
    CHECK(same(rows(), before));
    if (opened && !met) break;
  }
  CHECK(stops > (full ? 20 : 60));
}

// Written before a buy could create its symbol. Account 1 asked to buy NEW before it was there, and
// was refused: a journal holds only what changed something, so nothing of it is replayed under the
// newer rule.
TEST_CASE_METHOD(
    Place, "a journal of a server that refused buys of unknown symbols replays to the same state") {
  const char* const batches[] = {
      // accounts 1 and 2
      "0101020001318080a0cfc8e0c8e38a01000001320000000013b57faa47622eb199eee6a0",
      // symbol NEW
      "01020101034e45570000df1311a975ecff1770dcf159",
      // 10 for 2; 1 buys 3 @10
      "01030202034e455701328094ebdc03030131034e45570080c6868f01"
      "8094ebdc030100868b1db54ef9c090f34c316d",
      // 2 sells 2 @9
      "010401030132034e4557018084af5f80d293ad03020143cf7ad28fcf5c70a1694a8c",
  };
  const auto bytes_of = [](std::string_view hex) {
    std::string bytes;
    for (std::size_t i = 0; i < hex.size(); i += 2)
      bytes += char(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
    return bytes;
  };
  {
    SqliteStore store(db());
    store.open();
    for (BatchNumber batch = 1; batch <= 4; ++batch)
      store.append(batch, bytes_of(batches[batch - 1]));
  }
  CHECK(start() == "batch 4");
  {
    SqliteStore store(db());
    store.open();
    Recovered recovered = recover(store);
    const SymbolName symbol("NEW"), newer("NEWER");
    CHECK(recovered.exchange.position(AccountId("1"), symbol) == Shares::whole(2));
    CHECK(recovered.exchange.balance(AccountId("2")) == Cash::whole(20));
    // From here on a buy creates its symbol, in the journal too.
    const PlaceOrder buy{AccountId("1"), newer, Side::buy, Shares::whole(1), Price::whole(1)};
    commit(store, recovered.exchange, 5, {buy});
    CHECK(recovered.exchange.totals().orders == 3);
  }
  CHECK(start() == "batch 5");
}
