// Stores of servers that knew no page checksums: they get them where there is room, and start where
// there is none.

#include "catch.hpp"

#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>
#include <sqlite3.h>

#include "durability/place.hpp"
#include "durability/simulated_disk.hpp"
#include "store/checksum_vfs.hpp"
#include "system/crash/small_disk.hpp"

using namespace exchange;
using exchange::testing::contents;
using exchange::testing::Place;
using exchange::testing::SimulatedDisk;
using exchange::testing::SmallDisk;
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
        "CREATE TABLE padding AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000) SELECT randomblob(3000) FROM n",
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
    "files without page checksums get them at the next start, and servers that know none keep off them") {
  CHECK(start() == "batch 9");
  for (const char* file : {"", ".journal"}) {
    CHECK(contents(db() + file)[20] == checksum_bytes);
    CHECK(version_in(contents(db() + file)) == 2);
  }
  std::fstream damaged(db(), std::ios::in | std::ios::out | std::ios::binary);
  damaged.seekp(4'096 + 4'000).put('x');
  damaged.close();
  CHECK_THAT(start(), contains_text("page 2 (byte 4096) fails its checksum"));
}

TEST_CASE_METHOD(Place, "files with page checksums say so by their version") {
  make("x", false);
  for (const char* file : {"", ".journal"}) {
    CHECK(version_in(contents(db() + file)) == 2);
    SqliteDatabase(db() + file, SqliteDatabase::Use::write).run("PRAGMA user_version = 1");
    REQUIRE(version_in(contents(db() + file)) == 1);
  }
  CHECK(start() == "batch 9");
  for (const char* file : {"", ".journal"}) CHECK(version_in(contents(db() + file)) == 2);
}

TEST_CASE_METHOD(
    OldStore,
    "an old store whose rewriting fills the disk starts as it is, and leaves the room that it found") {
  make_large();
  SimulatedDisk disk(3);
  put_on(disk);
  // Enough for the journal's rewriting, not for that of the tables.
  const std::uint64_t capacity = disk.used() + 400'000;
  disk.full = [&](const std::string& name, std::uint64_t bytes) {
    return !name.empty() && disk.used() - disk.bytes_of(name).size() + bytes > capacity;
  };
  for (int i = 0; i < 3; ++i) {
    CHECK(start() == "batch 9");
    CHECK(disk.used() < capacity - 100'000);
    const auto files = disk.files();
    CHECK(version_in(files.at(db() + ".journal")) == 2);
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

TEST_CASE_METHOD(OldStore, "an old store is not rewritten where there is no room for it") {
  constexpr unsigned mebibytes = 16;
  const SmallDisk disk(mebibytes);
  if (!disk.why_not().empty()) {
    WARN("not run: " << disk.why_not());
    return;
  }
  make_large();
  const std::string place = disk.path() + "/x";
  for (const char* file : {"", ".journal"}) fs::copy_file(db() + file, db(place) + file);
  std::ostringstream log;
  const auto before = spdlog::default_logger();
  spdlog::set_default_logger(std::make_shared<spdlog::logger>(
      "test", std::make_shared<spdlog::sinks::ostream_sink_st>(log)));
  const std::string said = start(place);
  spdlog::set_default_logger(before);
  CHECK(said == "batch 9");
  CHECK_THAT(log.str(),
             contains_text("its pages carry no checksums") && contains_text("MiB free, and "));
  CHECK(contents(db(place))[20] == 0);
}

TEST_CASE_METHOD(
    OldStore, "commits of an old store's tables that a power cut took out of order are replayed") {
  const pid_t child = ::fork();
  if (child == 0) {  // as the old server: killed
    sqlite3* tables = nullptr;
    bool done = sqlite3_open(db().c_str(), &tables) == SQLITE_OK;
    for (int i = 0; i < 5; ++i)
      done = done &&
             sqlite3_exec(tables,
                          "PRAGMA synchronous = NORMAL; UPDATE projection SET epoch = epoch + 1",
                          nullptr, nullptr, nullptr) == SQLITE_OK;
    ::_exit(done ? 0 : 1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(status == 0);
  std::fstream log(db() + "-wal", std::ios::in | std::ios::out | std::ios::binary);
  log.seekp(32 + 4'120 + 24 + 1'000).put('x');
  log.close();
  CHECK(start() == "batch 9");
}
