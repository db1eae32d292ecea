#pragma once
// The write-ahead log of SQLite as a file format (sqlite.org/fileformat2.html, "The Write-Ahead
// Log"): as much of it as is needed to tell a page that went bad, and a log that was damaged from
// one that a crash cut short. Called by checksum_vfs.cpp, for single frames, and by sqlite_log.cpp,
// before a file is opened.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace exchange {

inline constexpr std::size_t wal_header_bytes = 32, wal_frame_header_bytes = 24;

// Running sums of the log: over pairs of 32-bit words.
struct WalSums {
  std::uint32_t first = 0, second = 0;
  bool operator==(const WalSums&) const = default;
};

struct WalHeader {
  bool big_endian;  // how the sums read their words
  std::uint32_t page_bytes, salt_1, salt_2;
  WalSums sums;
};
// Empty where these 32 bytes are no whole header.
std::optional<WalHeader> read_wal_header(const unsigned char* bytes);

struct WalFrameHeader {
  // pages_after_commit: 0 but in the last frame of a transaction
  std::uint32_t page, pages_after_commit, salt_1, salt_2;
  WalSums sums;
  bool commits() const { return pages_after_commit != 0; }
};
WalFrameHeader read_wal_frame_header(const unsigned char* bytes);

// Whether a frame carries the sums that follow from those stored before it.
bool wal_frame_fits(bool big_endian, const WalSums& before, const unsigned char* frame_header,
                    const unsigned char* page, std::size_t page_bytes);

// Reads `size` bytes at `offset`; false where the file ends before.
using ReadAt = std::function<bool(unsigned char* into, std::size_t size, std::uint64_t offset)>;

struct WalState {
  // what is wrong; empty where the log is whole, or cut short by a crash in its last transaction
  std::string damage;
  // up to the end of the last commit before anything that does not fit: what SQLite takes
  std::uint64_t committed_bytes = 0;
};
// For a log each of whose transactions was synced before the next began. SQLite would silently drop
// everything from the first bad frame on.
WalState examine_wal(std::uint64_t file_bytes, const ReadAt& read);

}  // namespace exchange
