#pragma once
// PageChecksums keeps a checksum in each page of a database file, in the bytes that SQLite reserves
// for extensions. It sets the checksum when the page is written and compares it when the page is
// read. It owns what the header of its file says about the pages. Used by store_vfs.cpp. One thread
// at a time.
//
//   page     := content             page size - 8 bytes, as SQLite writes it
//               checksum:u64        little-endian; 0: none
//
//   page 1 begins with SQLite's header of 100 bytes, of which this reads:
//        0  "SQLite format 3\0"
//       16  page size               2 bytes, big-endian; 1 stands for 65,536
//       20  reserved bytes a page   8 in files with checksums
//       68  application id          4 bytes, "EXCH" in files with checksums
//
//   checksum := sum of the page's bytes before it, by page_checksum() (base/checksum.hpp):
//                 sum = page_checksum(first page size - 32 bytes, seed = page number, from 1)
//                 for each of the 3 words w of 8 bytes that follow, read as little-endian:
//                   sum = page_checksum(no bytes, seed = sum + w)
//               A sum of 0 is stored as 1. On page 1, bytes 18-19, 24-27, 40-43 and 92-99 count as
//               zeros: the backup of the sqlite3 shell sets them differently, and no row depends
//               on them.
//
// Other programs may read such files. If another program checkpoints the log into the file (the
// sqlite3 shell does so when it is the last to close), those pages have no checksum until the
// server writes them again: SQLite writes zeros there, which is accepted as "none". If another
// program changes rows, the pages keep their old checksum and are refused.

#include <sqlite3.h>

#include <cstdint>
#include <vector>

namespace exchange {

// "EXCH", a second mark in the header in addition to the reserved bytes: one flipped bit in either
// of them cannot turn the checksums off.
inline constexpr std::uint32_t checksum_application_id = 0x45584348;
inline constexpr int checksum_bytes = 8;

class PageChecksums {
 public:
  explicit PageChecksums(const char* name) : name_(name) {}

  // Reads from page 1, or its first 100 bytes, what pages the file has.
  void read_header(const unsigned char* header);
  // Returns true if `amount` bytes at `offset` are a page that must have a checksum.
  bool must_have(int amount, sqlite3_int64 offset) const;
  // Compares the checksum of such a page and zeroes it, which restores the page as SQLite wrote it.
  // Returns SQLITE_OK, or SQLITE_IOERR_DATA (page_damage.hpp).
  int check(unsigned char* page, sqlite3_int64 offset);
  // Returns the bytes to write for a page of the file: the page with its checksum. They are valid
  // until the next call.
  const unsigned char* seal(const unsigned char* bytes, int amount, sqlite3_int64 offset);

 private:
  std::uint64_t sum_of(const unsigned char* page, sqlite3_int64 number);

  const char* const name_;
  bool sealed_ = false, has_reserved_bytes_ = false;
  int page_bytes_ = 0;
  std::vector<unsigned char> first_, written_;  // copies of page 1, and of the page to write
};

}  // namespace exchange
