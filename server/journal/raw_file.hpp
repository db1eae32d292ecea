#pragma once
// RawFile opens a file through SQLite's default VFS, but not as a database. So the tests that
// simulate a disk see these files too. Positions and sizes are in bytes. Errors are
// StoreUnavailable. Owner: the object that holds it, on one thread at a time.

#include <sqlite3.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "journal/store_errors.hpp"

namespace exchange {

// Returns true if a file exists and is not empty, as SQLite sees it.
bool file_has_content(const std::string& path);
// Returns true if a file begins as a SQLite database does. Throws StoreUnavailable if it cannot be
// read.
bool begins_as_database(const std::string& path);
// Returns the file that `path` leads to: a VFS opens only paths without symbolic links.
std::string behind_links(const std::string& path);
// Removes a file, durably. It is not an error if the file does not exist.
void remove_file(const std::string& path);

class RawFile {
 public:
  // `flags` are SQLITE_OPEN_... values. With SQLITE_OPEN_SUPER_JOURNAL, the first sync makes a new
  // file's name durable.
  RawFile(const std::string& path, int flags);
  ~RawFile() { file()->pMethods->xClose(file()); }
  RawFile(const RawFile&) = delete;
  RawFile& operator=(const RawFile&) = delete;

  // Returns the size that the file had when it was opened.
  sqlite3_int64 size() const { return size_; }
  // Returns false at the end of the file. A read that fails throws: it must not look like the end.
  bool read(void* into, std::size_t bytes, sqlite3_int64 offset);
  void write(std::string_view bytes, sqlite3_int64 offset);
  void cut(sqlite3_int64 size) { require_written(file()->pMethods->xTruncate(file(), size)); }
  // Throws StoreCorrupt if the sync fails: then the content of the disk is unknown.
  void sync();
  // Locks the file for one writer, or for readers; needs SQLITE_OPEN_MAIN_DB. Returns false if
  // another process, or another RawFile, has it locked.
  bool try_lock(bool for_writing);

 private:
  StoreUnavailable unreadable() const;
  void require_written(int code) const;
  sqlite3_file* file() { return reinterpret_cast<sqlite3_file*>(memory_.data()); }

  const std::string path_;  // SQLite keeps a pointer to it
  std::vector<std::max_align_t> memory_;
  sqlite3_int64 size_ = 0;
};

}  // namespace exchange
