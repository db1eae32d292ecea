#include "store/sqlite.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "faults/fail_point.hpp"
#include "store/checksum_vfs.hpp"
#include "store/store.hpp"
#include "store/wal_frames.hpp"

namespace exchange {

namespace {

constexpr const char* restore = "restore the store from a backup (docs/recovery.md)";

// Each connection stays on one thread, and nobody reads SQLite's memory statistics: leave out the mutexes
// round every allocation. Must come before the first connection.
[[maybe_unused]] const int configured = [] {
  sqlite3_config(SQLITE_CONFIG_MULTITHREAD);
  return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}();

int checkpoint_when_long(void* code, sqlite3* handle, const char*, int pages) {
  constexpr int pages_max = 1'000;
  if (pages < pages_max) return SQLITE_OK;
  fail_point("checkpoint.before");
  *static_cast<int*>(code) = sqlite3_wal_checkpoint_v2(handle, nullptr, SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr);
  fail_point("checkpoint.after");
  return SQLITE_OK;
}

constexpr const char* sync_failed = ": the disk failed to sync; start again once it is sound";

// Before SQLite looks at the log. It takes a damaged frame for the end; where commits follow it, they were acknowledged.
// And what the system still has of the log in memory may never have reached the disk, where a sync failed before: SQLite
// would sync nothing and copy pages into the file in the belief that the log holds them. So it is written once more.
void secure_log(const std::string& path) {
  const std::string log = path + "-wal";
  if (!file_has_content(path) || !file_has_content(log)) return;
  sqlite3_vfs* const vfs = sqlite3_vfs_find(nullptr);
  std::vector<std::max_align_t> room(std::size_t(vfs->szOsFile) / sizeof(std::max_align_t) + 1);
  auto* const file = reinterpret_cast<sqlite3_file*>(room.data());
  int flags = 0;
  if (vfs->xOpen(vfs, log.c_str(), file, SQLITE_OPEN_READWRITE | SQLITE_OPEN_WAL, &flags) != SQLITE_OK)
    throw StoreUnavailable(log + " cannot be opened; may this user read and write it?");
  const std::unique_ptr<sqlite3_file, void (*)(sqlite3_file*)> closed(file, [](sqlite3_file* f) { f->pMethods->xClose(f); });
  sqlite3_int64 size = 0;
  file->pMethods->xFileSize(file, &size);
  const auto read = [&](unsigned char* into, std::size_t bytes, std::uint64_t offset) {
    return file->pMethods->xRead(file, into, int(bytes), sqlite3_int64(offset)) == SQLITE_OK;
  };
  if (const std::string damage = find_wal_damage(std::uint64_t(size), read); !damage.empty()) throw StoreCorrupt(log + ": " + damage + "; " + restore);
  std::vector<unsigned char> chunk(64 * 1024);  // the VFS takes less than 128 KiB at once
  for (sqlite3_int64 at = 0; at < size; at += sqlite3_int64(chunk.size())) {
    const auto bytes = std::size_t(std::min<sqlite3_int64>(size - at, sqlite3_int64(chunk.size())));
    if (!read(chunk.data(), bytes, std::uint64_t(at)) || file->pMethods->xWrite(file, chunk.data(), int(bytes), at) != SQLITE_OK)
      throw StoreUnavailable(log + " cannot be written; is there room on the disk, and may this user write it?");
  }
  if (file->pMethods->xSync(file, SQLITE_SYNC_NORMAL) != SQLITE_OK) throw StoreCorrupt(log + sync_failed);
}

std::string advice(int code) {
  switch (code & 0xFF) {
    case SQLITE_CANTOPEN: return "; is its folder there, and may this user write in it?";
    case SQLITE_PERM:
    case SQLITE_READONLY: return "; give this user the right to write the file and its folder";
    case SQLITE_FULL: return "; make room on the disk";
    case SQLITE_BUSY: return "; another program holds it: let that one finish";
    default: return "";
  }
}

}  // namespace

bool file_has_content(const std::string& path) {
  sqlite3_vfs* const vfs = sqlite3_vfs_find(nullptr);
  int found = 0;
  return vfs->xAccess(vfs, path.c_str(), SQLITE_ACCESS_EXISTS, &found) == SQLITE_OK && found != 0;
}

SqliteDatabase::SqliteDatabase(const std::string& path, Sync sync) : path_(path) {
  if (sync == Sync::every_commit) secure_log(path);
  const int code = sqlite3_open_v2(path.c_str(), &handle_, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, checksum_vfs());
  try {
    check(code);
    sqlite3_extended_result_codes(handle_, 1);
    int reserved = checksum_bytes;  // of pages, in a file that is new or rewritten
    check(sqlite3_file_control(handle_, "main", SQLITE_FCNTL_RESERVE_BYTES, &reserved));
    constexpr int busy_ms = 5'000;
    check(sqlite3_busy_timeout(handle_, busy_ms));
    SqliteStatement wal(*this, "PRAGMA journal_mode=WAL");
    if (!wal.step() || wal.text(0) != "wal") throw StoreCorrupt(path + ": this file system cannot hold a write-ahead log");
    wal.run();
    // Freed pages need no overwriting: nothing in them is secret.
    run("PRAGMA temp_store=MEMORY; PRAGMA cache_size=-4096; PRAGMA secure_delete=OFF");  // KiB
    checkpoint_code_ = std::make_unique<int>(SQLITE_OK);
    sqlite3_wal_hook(handle_, checkpoint_when_long, checkpoint_code_.get());
    run(sync == Sync::every_commit ? "PRAGMA synchronous=FULL" : "PRAGMA synchronous=NORMAL");
    // Frames that a crash left behind the end must not stand among those that follow: the next log starts afresh.
    if (sync == Sync::every_commit) run("PRAGMA wal_checkpoint(TRUNCATE)");
  } catch (...) {
    sqlite3_close_v2(handle_);
    handle_ = nullptr;
    throw;
  }
}

void SqliteDatabase::check_checkpoint() {
  const int code = std::exchange(*checkpoint_code_, SQLITE_OK);
  if ((code & 0xFF) != SQLITE_BUSY && (code & 0xFF) != SQLITE_LOCKED) check(code);
}

void SqliteDatabase::run(const char* sql) { check(sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr)); }

void SqliteDatabase::rollback() noexcept {
  if (handle_ != nullptr && sqlite3_get_autocommit(handle_) == 0) sqlite3_exec(handle_, "ROLLBACK", nullptr, nullptr, nullptr);
}

void SqliteDatabase::check(int code) const {
  if (code == SQLITE_OK || code == SQLITE_ROW || code == SQLITE_DONE) return;
  const std::string problem = path_ + ": " + (handle_ != nullptr && sqlite3_extended_errcode(handle_) == code ? sqlite3_errmsg(handle_) : sqlite3_errstr(code));
  // After a failed sync nobody knows what is on the disk, and asking again may get a wrong answer from the
  // page cache (Rebello et al., "Can Applications Recover from fsync Failures?", 2020): stop, then recover.
  if (code == SQLITE_IOERR_FSYNC || code == SQLITE_IOERR_DIR_FSYNC)
    throw StoreCorrupt(problem + sync_failed);
  if (code == SQLITE_IOERR_DATA)
    throw StoreCorrupt(last_page_damage() + ": the file is damaged, or was changed by another program; " + restore);
  if ((code & 0xFF) == SQLITE_CORRUPT || (code & 0xFF) == SQLITE_NOTADB)
    throw StoreCorrupt(problem + ": the file is damaged or not a database; " + restore);
  throw StoreUnavailable(problem + advice(code));
}

SqliteStatement::SqliteStatement(SqliteDatabase& database, std::string_view sql) : database_(&database) {
  database.check(sqlite3_prepare_v3(database.handle(), sql.data(), int(sql.size()), SQLITE_PREPARE_PERSISTENT, &handle_, nullptr));
}

bool SqliteStatement::step() {
  const int code = sqlite3_step(handle_);
  if (code == SQLITE_ROW) return true;
  sqlite3_reset(handle_);
  database_->check(code);
  return false;
}

int SqliteStatement::run() {
  while (step()) {
  }
  return sqlite3_changes(database_->handle());
}

std::string_view SqliteStatement::text(int column) const {
  const void* bytes = sqlite3_column_blob(handle_, column);
  return {static_cast<const char*>(bytes), std::size_t(sqlite3_column_bytes(handle_, column))};
}

}  // namespace exchange
