#pragma once
// FrameCheck compares the pages that SQLite reads from its log with the log's own sums
// (wal_frames.hpp). SQLite itself does that only when it opens the log. It owns the position from
// which on frames belong to a transaction in progress: SQLite still changes their sums, so they are
// not compared. Used by store_vfs.cpp. One thread at a time.

#include <sqlite3.h>

#include <cstdint>

#include "store/sqlite/joined_writes.hpp"

namespace exchange {

class FrameCheck {
 public:
  explicit FrameCheck(const char* name) : name_(name) {}

  // Call it when SQLite writes to the log. Returns true if the write completes a commit.
  bool note_write(const unsigned char* bytes, int amount, sqlite3_int64 offset);
  // Checks bytes that were read there, if they are a page. Returns SQLite's codes:
  // SQLITE_IOERR_DATA if the page does not match its sums (page_damage.hpp).
  int check(JoinedWrites& log, const unsigned char* bytes, int amount, sqlite3_int64 offset) const;

 private:
  static constexpr sqlite3_int64 never = INT64_MAX;

  const char* const name_;
  sqlite3_int64 uncommitted_from_ = never;
};

}  // namespace exchange
