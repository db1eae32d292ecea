#pragma once
// SQLite's C interface as two owners, with its errors as the exceptions of store.hpp.

#include <sqlite3.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "store/store.hpp"

namespace exchange {

// A row that stands against another, or against the rules of its table.
struct SqliteConstraint : StoreUnavailable {
  using StoreUnavailable::StoreUnavailable;
};

class SqliteDatabase {
 public:
  SqliteDatabase() = default;
  enum class Use { write, read };
  // To write: opens or creates, where nobody else writes; each commit is on the disk when it
  // returns. New files get page checksums (checksum_vfs.hpp). Throws StoreCorrupt where the log was
  // damaged, not just cut short by a crash (sqlite_log.hpp), and brings the log into the file. To
  // read: beside the one that writes.
  SqliteDatabase(const std::string& path, Use use);
  SqliteDatabase(SqliteDatabase&& other) noexcept { *this = std::move(other); }
  SqliteDatabase& operator=(SqliteDatabase&& other) noexcept {
    std::swap(handle_, other.handle_);
    std::swap(path_, other.path_);
    std::swap(checkpoint_code_, other.checkpoint_code_);
    return *this;
  }
  ~SqliteDatabase() { sqlite3_close_v2(handle_); }

  // Runs statements that return nothing.
  void run(const char* sql);
  void rollback() noexcept;  // where a transaction is open
  sqlite3* handle() const { return handle_; }
  // Throws what `code` of the last call means, and what to do about it; returns on success.
  void check(int code) const;
  // After a commit: throws what went wrong in the checkpoint that it may have led to. SQLite's own
  // hook would keep a failed sync to itself.
  void check_checkpoint();

 private:
  sqlite3* handle_ = nullptr;
  std::string path_;
  // of the last automatic checkpoint; at a fixed address for the hook
  std::unique_ptr<int> checkpoint_code_;
};

// Bytes that are bound as a blob.
struct SqliteBlob {
  std::string_view bytes;
};

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

  // Binds the arguments in order and starts afresh. Texts and blobs must live until the next call.
  template <class... Argument>
  SqliteStatement& with(const Argument&... argument) {
    sqlite3_reset(handle_);
    int at = 0;
    (bind(++at, argument), ...);
    return *this;
  }
  // Steps to the next row; false at the end.
  bool step();
  // Runs to the end; returns the rows changed.
  int run();
  void reset() { sqlite3_reset(handle_); }

  std::int64_t integer(int column) const { return sqlite3_column_int64(handle_, column); }
  // Valid until the next step.
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
