#include "store/sqlite/page_checksums.hpp"

#include <bit>
#include <boost/endian/conversion.hpp>
#include <cstring>
#include <utility>

#include "base/checksum.hpp"
#include "store/sqlite/page_damage.hpp"

namespace exchange {
namespace {

using boost::endian::load_little_u64, boost::endian::store_little_u64;

bool is_header(const unsigned char* header) {
  return std::memcmp(header, "SQLite format 3", 16) == 0;
}

// Returns true if either mark is set: one flipped bit must not turn the checksums off. A lost
// header, which a newer copy of page 1 in the log could hide, must not do so either.
bool wants_checksums(const unsigned char* header) {
  return !is_header(header) || header[20] == checksum_bytes ||
         boost::endian::load_big_u32(header + 68) == checksum_application_id;
}

bool is_page(int amount, sqlite3_int64 offset) {
  return amount >= 512 && std::has_single_bit(unsigned(amount)) && offset % amount == 0;
}

// Returns true if the end of a page with rows is one of its free blocks. SQLite has moved those
// rows to another page, and the bytes have no meaning.
bool ends_in_free_block(const unsigned char* page, const unsigned char* start, int end) {
  const auto number = [](const unsigned char* at) { return at[0] << 8 | at[1]; };
  for (int block = number(start + 1), before = 0; block > before && block + 4 <= end;
       before = std::exchange(block, number(page + block)))
    if (block + number(page + block + 2) == end) return true;
  return false;
}

// Returns true if a page without a checksum is plausible, because another program's checkpoint
// wrote it. SQLite fills a page with rows from its end, so zeros there are damage, unless that part
// is free. A page without rows must not be all zeros.
bool may_lack_checksum(const unsigned char* page, int page_bytes, sqlite3_int64 number) {
  const unsigned char* const start = page + (number == 1 ? 100 : 0);
  const bool rows = (*start == 2 || *start == 5 || *start == 10 || *start == 13) &&
                    (start[3] != 0 || start[4] != 0);
  const unsigned char* const end = page + page_bytes - checksum_bytes;
  const bool zero_end = load_little_u64(end - 8) == 0 && load_little_u64(end - 16) == 0;
  if (rows || number == 1)
    return !zero_end || ends_in_free_block(page, start, page_bytes - checksum_bytes);
  for (const unsigned char* at = page; at != end; ++at)
    if (*at != 0) return true;
  return false;
}

}  // namespace

void PageChecksums::read_header(const unsigned char* header) {
  sealed_ = wants_checksums(header);
  has_reserved_bytes_ = is_header(header) && header[20] == checksum_bytes;
  const int size = is_header(header) ? header[16] << 8 | header[17] : 4'096;
  page_bytes_ = size == 1 ? 65'536 : size;
}

bool PageChecksums::must_have(int amount, sqlite3_int64 offset) const {
  return sealed_ && amount == page_bytes_ && is_page(amount, offset);
}

std::uint64_t PageChecksums::sum_of(const unsigned char* page, sqlite3_int64 number) {
  if (number == 1) {
    // Zero the format versions, change counter, schema cookie and version-valid-for.
    first_.assign(page, page + page_bytes_);
    page = first_.data();
    for (const auto& [begin, end] : {std::pair{18, 20}, {24, 28}, {40, 44}, {92, 100}})
      std::memset(first_.data() + begin, 0, std::size_t(end - begin));
  }
  // page_checksum takes multiples of 32 bytes; the last 3 words before the checksum enter as seeds.
  const std::size_t whole = std::size_t(page_bytes_ - 32);
  std::uint64_t sum = page_checksum(page, whole, std::uint64_t(number));
  for (std::size_t at = whole; at < whole + 24; at += 8)
    sum = page_checksum(nullptr, 0, sum + load_little_u64(page + at));
  return sum == 0 ? 1 : sum;  // zero means "no checksum"
}

int PageChecksums::check(unsigned char* page, sqlite3_int64 offset) {
  const sqlite3_int64 number = offset / page_bytes_ + 1;
  unsigned char* const at = page + page_bytes_ - checksum_bytes;
  if (const std::uint64_t stored = load_little_u64(at); stored != 0) {
    if (stored != sum_of(page, number))
      return report_page_damage(name_, number, offset, "fails its checksum");
    store_little_u64(at, 0);
  } else if (!may_lack_checksum(page, page_bytes_, number)) {
    return report_page_damage(name_, number, offset, "is overwritten with zeros");
  }
  return SQLITE_OK;
}

const unsigned char* PageChecksums::seal(const unsigned char* bytes, int amount,
                                         sqlite3_int64 offset) {
  if (!is_page(amount, offset)) return bytes;
  if (offset == 0) read_header(bytes);
  if (!has_reserved_bytes_ || amount != page_bytes_) return bytes;
  written_.assign(bytes, bytes + amount);
  store_little_u64(written_.data() + amount - checksum_bytes, sum_of(bytes, offset / amount + 1));
  return written_.data();
}

}  // namespace exchange
