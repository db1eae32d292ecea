#pragma once
// A VFS (SQLite's file-system interface) between SQLite and the default VFS that detects damage to
// a database file: each page has a checksum in the bytes that SQLite reserves for extensions, set
// when the page is written to the file and compared when it is read. Pages that are still in the
// write-ahead log are compared with the log's own sums (wal_frames.hpp) when they are read. A page
// that fails is an SQLITE_IOERR_DATA for SQLite; last_page_damage() has the details. Used by
// SqliteDatabase and by the audit. Any thread; a connection stays on one thread. No state but the
// registration and the last damage of each thread.
//
// It also joins writes: SQLite writes the header and the page of each frame of the log for
// themselves; this layer holds them back until the last frame of a commit is complete (at most
// 64 KiB of them), so that a commit is one system call. It counts on synchronous=FULL: then SQLite
// releases its write lock with nothing held back but what it has rolled back.
//
//   page     := content             page size - 8 bytes, as SQLite writes it
//               checksum:u64        little-endian; 0: none
//
//   page 1 begins with SQLite's header of 100 bytes, of which this layer reads:
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
#include <string>

namespace exchange {

// "EXCH", a second mark in the header beside the reserved bytes: one flipped bit in either cannot
// turn the checksums off.
inline constexpr std::uint32_t checksum_application_id = 0x45584348;
inline constexpr int checksum_bytes = 8;

// Registers the layer, once per process, and returns its name for sqlite3_open_v2. Each file uses
// the VFS below it that is the default when the file is opened.
const char* checksum_vfs();
// Whether the pages of a file that begins with these 100 bytes must have checksums.
bool header_wants_checksums(const unsigned char* header);
// The file, page and problem of the last damaged page that this thread read; empty if there was
// none.
const std::string& last_page_damage();

}  // namespace exchange
