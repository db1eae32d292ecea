#include "store/sqlite/frame_check.hpp"

#include <algorithm>
#include <bit>
#include <optional>

#include "store/sqlite/page_damage.hpp"
#include "store/sqlite/wal_frames.hpp"

namespace exchange {
namespace {

constexpr int frame_header_bytes = int(wal_frame_header_bytes);

bool is_page_of_frame(int amount, sqlite3_int64 offset) {
  constexpr sqlite3_int64 first = wal_header_bytes + wal_frame_header_bytes;
  return amount >= 512 && std::has_single_bit(unsigned(amount)) && offset >= first &&
         (offset - first) % (amount + frame_header_bytes) == 0;
}

}  // namespace

bool FrameCheck::note_write(const unsigned char* bytes, int amount, sqlite3_int64 offset) {
  if (amount != frame_header_bytes) return uncommitted_from_ == never;
  uncommitted_from_ =
      read_wal_frame_header(bytes).commits() ? never : std::min(uncommitted_from_, offset);
  return false;
}

// The sums of a frame continue those of the frame before, so this can check one frame with only the
// frame before it.
int FrameCheck::check(JoinedWrites& log, const unsigned char* bytes, int amount,
                      sqlite3_int64 offset) const {
  if (offset >= uncommitted_from_ || !is_page_of_frame(amount, offset)) return SQLITE_OK;
  const sqlite3_int64 frame = offset - frame_header_bytes;
  unsigned char start[wal_header_bytes], header[wal_frame_header_bytes],
      before[wal_frame_header_bytes];
  if (const int code = log.read(start, sizeof start, 0); code != SQLITE_OK) return code;
  const std::optional<WalHeader> found = read_wal_header(start);
  if (!found) return report_page_damage(name_, 0, 0, "is in a log whose header is damaged");
  if (const int code = log.read(header, sizeof header, frame); code != SQLITE_OK) return code;
  WalSums sums = found->sums;
  if (frame > sqlite3_int64(wal_header_bytes)) {
    const int code = log.read(before, sizeof before, frame - amount - frame_header_bytes);
    if (code != SQLITE_OK) return code;
    sums = read_wal_frame_header(before).sums;
  }
  if (wal_frame_fits(found->big_endian, sums, header, bytes, std::size_t(amount))) return SQLITE_OK;
  return report_page_damage(name_, read_wal_frame_header(header).page, offset,
                            "fails the checksum of the log");
}

}  // namespace exchange
