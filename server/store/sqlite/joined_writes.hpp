#pragma once
// JoinedWrites writes a log of SQLite in few system calls. SQLite writes the header and the page of
// each frame for themselves; they are held back until the last frame of a commit is complete, at
// most 64 KiB of them, so that a commit is one write. Counts on synchronous=FULL: then SQLite
// releases its write lock with nothing held back but what it has rolled back. Owns the bytes that
// are held back, which are in one piece. Used by store_vfs.cpp. One thread at a time.

#include <sqlite3.h>

#include <vector>

namespace exchange {

class JoinedWrites {
 public:
  // `file`: of the VFS below.
  explicit JoinedWrites(sqlite3_file* file) : file_(file) {}

  // All return SQLite's codes.
  int write(const unsigned char* bytes, int amount, sqlite3_int64 offset);
  // Also sees what is held back.
  int read(void* into, int amount, sqlite3_int64 offset);
  // If it fails, what is held back stays: SQLite took it for written, so that a later commit must
  // fail too, or write it.
  int flush();
  // It was rolled back.
  void drop() { bytes_.clear(); }

 private:
  sqlite3_int64 end() const { return from_ + sqlite3_int64(bytes_.size()); }

  sqlite3_file* const file_;
  std::vector<unsigned char> bytes_;
  sqlite3_int64 from_ = 0;
};

}  // namespace exchange
