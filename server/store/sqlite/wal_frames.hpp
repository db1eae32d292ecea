#pragma once
// The part of the file format of SQLite's write-ahead log that the server checks
// (sqlite.org/fileformat2.html, "The Write-Ahead Log"): to detect a damaged page, and to
// distinguish a damaged log from one that a crash cut short. Called by frame_check.cpp for single
// frames while SQLite reads, and by sqlite_log.cpp for a whole log before SQLite opens the file.
// Pure functions; any thread.
//
//   log    := header frame*             numbers are big-endian
//
//   header := 32 bytes
//      0  magic      0x377f0682; its lowest bit set: the sums read words as big-endian
//      4  version    not used here
//      8  page size  512 to 65,536, a power of two
//     12  checkpoint sequence, not used here
//     16  salt 1     salts change each time that the log starts again from its beginning
//     20  salt 2
//     24  sums       of bytes 0 to 23
//
//   frame  := 24 bytes, then a page
//      0  page       number of the page in the database file, from 1
//      4  commit     pages of the database after the commit in the last frame of a transaction;
//                    0 in the other frames
//      8  salt 1     as in the header, else the frame is left from an earlier round of the log
//     12  salt 2
//     16  sums       continued from the frame before (from the header for the first frame) over
//                    bytes 0 to 7 and the page
//
// The sums are two 32-bit numbers: for each pair of words a, b:
//   first += a + second; second += b + first

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace exchange {

inline constexpr std::size_t wal_header_bytes = 32, wal_frame_header_bytes = 24;
// The page size of a database that this version creates. 1.0.0 created them with 4096.
inline constexpr std::size_t sqlite_page_bytes = 16'384;

// The running sums of a log.
struct WalSums {
  std::uint32_t first = 0, second = 0;
  bool operator==(const WalSums&) const = default;
};

struct WalHeader {
  bool big_endian;  // byte order in which the sums read words
  std::uint32_t page_bytes, salt_1, salt_2;
  WalSums sums;
};
// Returns nothing if these 32 bytes are not a sound header.
std::optional<WalHeader> read_wal_header(const unsigned char* bytes);

struct WalFrameHeader {
  // pages_after_commit: above 0 only in the last frame of a transaction
  std::uint32_t page, pages_after_commit, salt_1, salt_2;
  WalSums sums;
  bool commits() const { return pages_after_commit != 0; }
};
// `bytes` are the 24 bytes before a page.
WalFrameHeader read_wal_frame_header(const unsigned char* bytes);

// Returns true if a frame's stored sums are right. `before` are the sums stored in the frame before
// it, or in the header for the first frame.
bool wal_frame_fits(bool big_endian, const WalSums& before, const unsigned char* frame_header,
                    const unsigned char* page, std::size_t page_bytes);

// Reads `size` bytes at `offset`. Returns false if the file ends before; throws if it cannot be
// read.
using ReadAt = std::function<bool(unsigned char* into, std::size_t size, std::uint64_t offset)>;

struct WalState {
  // a description of the damage; empty if the log is sound, or a crash cut short its last
  // transaction
  std::string damage;
  // length of the log up to its last sound commit, which is the part that SQLite uses
  std::uint64_t committed_bytes = 0;
};
// Looks for damage that SQLite does not report: SQLite treats the first bad frame as the end of the
// log and silently drops the commits after it. Here a bad frame before a later commit of the same
// round is damage. Valid only for logs in which every transaction was synced before the next began.
WalState examine_wal(std::uint64_t file_bytes, const ReadAt& read);

}  // namespace exchange
