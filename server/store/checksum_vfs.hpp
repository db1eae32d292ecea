#pragma once
// A layer between SQLite and the default VFS that makes damage to a database file visible: every
// page carries a checksum in bytes that SQLite reserves for it (its last 8), set when the page
// reaches the file and compared when it is read. Pages that are still in the write-ahead log are
// compared with the log's own checksums when they are read. A page that does not fit is
// SQLITE_IOERR_DATA; last_page_damage() says which.
//
// Other programs may read such files. Where one copies the log into the file (the sqlite3 shell
// does when it is the last to close), those pages carry no checksum until they change again: SQLite
// hands over zeros there, which are taken as none. Where another program changes rows, its pages
// keep an old checksum and are refused. Any thread; it has no state but the registration.

#include <sqlite3.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace exchange {

// "EXCH": in the header of every file that has checksums, so that one flipped bit cannot hide that
// it should.
inline constexpr std::uint32_t checksum_application_id = 0x45584348;
inline constexpr int checksum_bytes = 8;

// Registers the layer, once a process; returns its name, for sqlite3_open_v2. It stands before
// whatever VFS is the default when a file is opened.
const char* checksum_vfs();
// Whether the pages of a file that begins with these 100 bytes must carry checksums.
bool header_wants_checksums(const unsigned char* header);
// Whether the pages of this database, which has been read from, carry checksums.
bool has_page_checksums(sqlite3* handle);
// What was wrong with the last page that this thread read in vain.
const std::string& last_page_damage();

// Over `size` bytes, a multiple of 32; depends on `seed` too. Any change within one aligned word
// changes it.
std::uint64_t page_checksum(const unsigned char* bytes, std::size_t size, std::uint64_t seed);

}  // namespace exchange
