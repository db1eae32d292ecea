#include "store/sqlite/sqlite.hpp"

#include "base/fail_point.hpp"
#include "journal/raw_file.hpp"
#include "store/sqlite/page_checksums.hpp"
#include "store/sqlite/page_damage.hpp"
#include "store/sqlite/sqlite_log.hpp"
#include "store/sqlite/store_vfs.hpp"
#include "store/sqlite/wal_frames.hpp"

namespace exchange {

namespace {

// Each connection stays on one thread, and SQLite's memory statistics are not used: this removes
// the mutexes around every allocation. Must run before the first connection.
[[maybe_unused]] const int configured = [] {
  sqlite3_config(SQLITE_CONFIG_MULTITHREAD);
  return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}();

// Returns a URI that SQLite reads as the name of a file, whatever characters the path has.
std::string uri(const std::string& path) {
  std::string uri = "file:";
  for (const char c : path) {
    if (c == '%' || c == '?' || c == '#') {
      constexpr const char* digits = "0123456789ABCDEF";
      uri += {'%', digits[c >> 4], digits[c & 15]};
    } else {
      uri += c;
    }
  }
  return uri;
}

std::string advice(int code) {
  switch (code & 0xFF) {
    case SQLITE_CANTOPEN: return "; does its folder exist, and may this user write in it?";
    case SQLITE_PERM:
    case SQLITE_READONLY: return "; give this user the right to write the file and its folder";
    case SQLITE_FULL: return "; free some space on the disk";
    case SQLITE_BUSY:
      return "; another program has locked the file: wait until it finishes, or end it";
    default: return "";
  }
}

}  // namespace

SqliteDatabase::SqliteDatabase(const std::string& path, Use use) : path_(path) {
  if (use == Use::write) secure_log(path);
  const int access = use == Use::write  ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
                     : use == Use::read ? SQLITE_OPEN_READONLY
                                        : SQLITE_OPEN_READONLY | SQLITE_OPEN_URI;
  const std::string name = use == Use::without_log ? uri(path) + "?immutable=1" : path;
  const int code =
      sqlite3_open_v2(name.c_str(), &handle_, access | SQLITE_OPEN_NOMUTEX, store_vfs());
  try {
    check(code);
    sqlite3_extended_result_codes(handle_, 1);
    if (use == Use::without_log) return;
    int reserved = checksum_bytes;  // for each page of a new file
    check(sqlite3_file_control(handle_, "main", SQLITE_FCNTL_RESERVE_BYTES, &reserved));
    constexpr int busy_ms = 5'000;
    check(sqlite3_busy_timeout(handle_, busy_ms));
    // of a new file; large pages take fewer system calls
    run(("PRAGMA page_size=" + std::to_string(sqlite_page_bytes)).c_str());
    SqliteStatement wal(*this, "PRAGMA journal_mode=WAL");
    if (!wal.step() || wal.text(0) != "wal")
      throw StoreCorrupt(
          path +
          ": this file system does not support SQLite's write-ahead log (is it a network "
          "file system?); put the store on a local one");
    wal.run();
    // Freed pages need no overwriting: they contain no secrets.
    run("PRAGMA temp_store=MEMORY; PRAGMA secure_delete=OFF");
    run(use == Use::write ? "PRAGMA cache_size=-16384" : "PRAGMA cache_size=-4096");  // KiB
    log_ = std::make_unique<Log>();
    sqlite3_wal_hook(handle_, on_commit, log_.get());
    if (use == Use::write) run("PRAGMA synchronous=FULL; PRAGMA wal_checkpoint(TRUNCATE)");
    SqliteStatement page_size(*this, "PRAGMA page_size");
    page_size.step();
    log_->page_bytes = int(page_size.integer(0));
  } catch (...) {
    sqlite3_close_v2(handle_);
    handle_ = nullptr;
    throw;
  }
}

// Moves the log into the file once it has 16 MB. A page that changes often is then moved once for
// many changes.
int SqliteDatabase::on_commit(void* of_database, sqlite3* handle, const char*, int pages) {
  Log& log = *static_cast<Log*>(of_database);
  // SQLite restarts the log from its beginning once the file has all of it.
  if (pages <= log.pages) log.turn.began_again = true;
  log.pages = pages;
  log.turn.is_in_file = false;
  constexpr std::int64_t bytes_max = 16'000'000;
  if (std::int64_t(pages) * log.page_bytes < bytes_max) return SQLITE_OK;
  fail_point("checkpoint.before");
  int in_log = 0, in_file = 0;
  log.checkpoint_code =
      sqlite3_wal_checkpoint_v2(handle, nullptr, SQLITE_CHECKPOINT_PASSIVE, &in_log, &in_file);
  log.turn.is_in_file = log.checkpoint_code == SQLITE_OK && in_log == in_file;
  fail_point("checkpoint.after");
  return SQLITE_OK;
}

SqliteDatabase::LogTurn SqliteDatabase::take_log_turn() { return std::exchange(log_->turn, {}); }

bool SqliteDatabase::checkpoint() {
  // A passive checkpoint does not wait for another program that reads.
  SqliteStatement passive(*this, "PRAGMA wal_checkpoint(PASSIVE)");
  if (!passive.step()) return false;
  log_->pages = int(passive.integer(1));
  const bool is_in_file = passive.integer(0) == 0 && passive.integer(1) == passive.integer(2);
  passive.run();
  return is_in_file;
}

void SqliteDatabase::check_checkpoint() {
  const int code = std::exchange(log_->checkpoint_code, SQLITE_OK);
  if ((code & 0xFF) != SQLITE_BUSY && (code & 0xFF) != SQLITE_LOCKED) check(code);
}

void SqliteDatabase::run(const char* sql) {
  check(sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr));
}

void SqliteDatabase::rollback() noexcept {
  if (handle_ != nullptr && sqlite3_get_autocommit(handle_) == 0)
    sqlite3_exec(handle_, "ROLLBACK", nullptr, nullptr, nullptr);
}

void SqliteDatabase::check(int code) const {
  if (code == SQLITE_OK || code == SQLITE_ROW || code == SQLITE_DONE) return;
  const std::string problem =
      path_ + ": " +
      (handle_ != nullptr && sqlite3_extended_errcode(handle_) == code ? sqlite3_errmsg(handle_)
                                                                       : sqlite3_errstr(code));
  // fatal, as in RawFile::sync()
  if (code == SQLITE_IOERR_FSYNC || code == SQLITE_IOERR_DIR_FSYNC)
    throw StoreCorrupt(problem + after_failed_sync);
  if (code == SQLITE_IOERR_DATA)
    throw StoreCorrupt(last_page_damage() +
                       ": the file is damaged, or was changed by another program; " +
                       restore_store);
  if ((code & 0xFF) == SQLITE_CORRUPT || (code & 0xFF) == SQLITE_NOTADB)
    throw StoreCorrupt(problem + ": the file is damaged or not a database; " + restore_store);
  if ((code & 0xFF) == SQLITE_CONSTRAINT) throw SqliteConstraint(problem);
  throw StoreUnavailable(problem + advice(code));
}

SqliteStatement::SqliteStatement(SqliteDatabase& database, std::string_view sql)
    : database_(&database) {
  database.check(sqlite3_prepare_v3(database.handle(), sql.data(), int(sql.size()),
                                    SQLITE_PREPARE_PERSISTENT, &handle_, nullptr));
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
