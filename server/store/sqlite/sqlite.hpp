#pragma once
// SqliteDatabase and SqliteStatement own a connection and a prepared statement of SQLite's C
// interface. SQLite's error codes become the exceptions of store_errors.hpp. Used by SqliteTables,
// the audit and tests. Thread: a connection and its statements stay on one thread. A database must
// be destroyed after its statements.
//
// Every method that runs SQL throws
//   StoreCorrupt      the file is damaged or not a database, or a sync failed
//   SqliteConstraint  the row contradicts another row, or the rules of its table
//   StoreUnavailable  any other error: no disk space, no permission, the file is busy
// with the file's path, SQLite's message and what the operator can do.

#include <sqlite3.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "journal/store_errors.hpp"

namespace exchange {

// A row contradicts another row, or the rules of its table. Not retryable, although it is derived
// from StoreUnavailable: callers that distinguish them catch it first.
struct SqliteConstraint : StoreUnavailable {
  using StoreUnavailable::StoreUnavailable;
};

class SqliteDatabase {
 public:
  SqliteDatabase() = default;
  enum class Use { write, read, without_log };
  // Use::write opens or creates the file; the caller ensures that it is the only writer. Each
  // commit is synced before it returns. New files get page checksums (page_checksums.hpp). It first
  // checks the log (sqlite_log.hpp; throws StoreCorrupt if it is damaged), then moves it into the
  // file. Use::read opens an existing file; another connection may write meanwhile.
  // Use::without_log reads the file as if it had no log; meanwhile nothing may write.
  SqliteDatabase(const std::string& path, Use use);
  SqliteDatabase(SqliteDatabase&& other) noexcept { *this = std::move(other); }
  SqliteDatabase& operator=(SqliteDatabase&& other) noexcept {
    std::swap(handle_, other.handle_);
    std::swap(path_, other.path_);
    std::swap(log_, other.log_);
    return *this;
  }
  ~SqliteDatabase() { sqlite3_close_v2(handle_); }

  // Runs one or more statements, ignoring the rows that they return.
  void run(const char* sql);
  void rollback() noexcept;  // does nothing if no transaction is open
  sqlite3* handle() const { return handle_; }
  // Throws if `code`, the result of the last call on this connection, is an error.
  void check(int code) const;
  // After a commit: throws if the automatic checkpoint that followed it failed, unless the file was
  // only busy. The commit itself is durable. SQLite's default hook would hide a failed sync.
  void check_checkpoint();
  // The effect on the log of the commits since the last call.
  struct LogTurn {
    bool began_again = false;  // at one of them; then the file had all commits before it
    bool is_in_file = false;   // the file has all commits
  };
  LogTurn take_log_turn();
  // Moves the log into the file. Returns true if the file then has all commits; another connection
  // that reads may prevent that.
  bool checkpoint();

 private:
  struct Log {
    int checkpoint_code = SQLITE_OK;  // of the last automatic checkpoint
    int pages = 0, page_bytes = 0;
    LogTurn turn;
  };
  static int on_commit(void* log, sqlite3* handle, const char* name, int pages);

  sqlite3* handle_ = nullptr;
  std::string path_;
  std::unique_ptr<Log> log_;  // on the heap, because the hook keeps its address
};

// A parameter that SQLite binds as a blob.
struct SqliteBlob {
  std::string_view bytes;
};

// A prepared statement that is run repeatedly:
//   for (statement.with(a, b); statement.step();) use(statement.integer(0));
class SqliteStatement {
 public:
  SqliteStatement() = default;
  SqliteStatement(SqliteDatabase& database, std::string_view sql);
  SqliteStatement(SqliteStatement&& other) noexcept { *this = std::move(other); }
  SqliteStatement& operator=(SqliteStatement&& other) noexcept {
    std::swap(database_, other.database_);
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~SqliteStatement() { sqlite3_finalize(handle_); }

  // Resets the statement and binds its parameters, from ?1 on. Does not copy texts and blobs: they
  // must live until the next with().
  template <class... Argument>
  SqliteStatement& with(const Argument&... argument) {
    sqlite3_reset(handle_);
    int at = 0;
    (bind(++at, argument), ...);
    return *this;
  }
  // Steps to the next row. At the end it returns false and resets the statement.
  bool step();
  // Runs to the end; returns the number of rows changed.
  int run();
  void reset() { sqlite3_reset(handle_); }

  // Return columns of the current row, counted from 0. The text, also of a blob, is valid until the
  // next step.
  std::int64_t integer(int column) const { return sqlite3_column_int64(handle_, column); }
  std::string_view text(int column) const;

 private:
  void bind(int at, std::int64_t value) {
    database_->check(sqlite3_bind_int64(handle_, at, value));
  }
  void bind(int at, std::uint64_t value) { bind(at, std::int64_t(value)); }
  void bind(int at, std::uint32_t value) { bind(at, std::int64_t(value)); }
  void bind(int at, bool value) { bind(at, std::int64_t(value)); }
  void bind(int at, SqliteBlob blob) {
    database_->check(
        sqlite3_bind_blob64(handle_, at, blob.bytes.data(), blob.bytes.size(), SQLITE_STATIC));
  }
  void bind(int at, std::string_view text) {
    database_->check(sqlite3_bind_text(handle_, at, text.data(), int(text.size()), SQLITE_STATIC));
  }
  SqliteDatabase* database_ = nullptr;
  sqlite3_stmt* handle_ = nullptr;
};

}  // namespace exchange
