#pragma once
// JoinedWrites writes a log of SQLite in few system calls. SQLite writes the header and the page of
// each frame separately. JoinedWrites buffers them, at most 64 KiB, until the last frame of a
// commit is complete, so that a commit is one write. It depends on synchronous=FULL: then, when
// SQLite releases its write lock, only rolled-back writes are still buffered. It owns the buffered
// bytes, which are contiguous in the log. Used by store_vfs.cpp. One thread at a time.

#include <sqlite3.h>

#include <vector>

namespace exchange {

class JoinedWrites {
 public:
  // `file` is the file of the VFS below.
  explicit JoinedWrites(sqlite3_file* file) : file_(file) {}

  // All return SQLite's codes.
  int write(const unsigned char* bytes, int amount, sqlite3_int64 offset);
  // Also sees the buffered bytes.
  int read(void* into, int amount, sqlite3_int64 offset);
  // If it fails, the bytes stay buffered: for SQLite they are written, so a later commit must fail
  // too, or write them.
  int flush();
  // Drops the buffered bytes, because SQLite rolled them back.
  void drop() { bytes_.clear(); }

 private:
  sqlite3_int64 end() const { return from_ + sqlite3_int64(bytes_.size()); }

  sqlite3_file* const file_;
  std::vector<unsigned char> bytes_;
  sqlite3_int64 from_ = 0;
};

}  // namespace exchange
