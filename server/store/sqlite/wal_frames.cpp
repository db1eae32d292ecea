#include "store/sqlite/wal_frames.hpp"

#include <bit>
#include <cstring>
#include <vector>

namespace exchange {
namespace {

std::uint32_t big_endian_word(const unsigned char* bytes) {
  return std::uint32_t(bytes[0]) << 24 | std::uint32_t(bytes[1]) << 16 |
         std::uint32_t(bytes[2]) << 8 | bytes[3];
}

std::uint32_t word(const unsigned char* bytes, bool big_endian) {
  std::uint32_t value;
  std::memcpy(&value, bytes, sizeof value);
  return big_endian == (std::endian::native == std::endian::big) ? value : __builtin_bswap32(value);
}

WalSums add(WalSums sums, bool big_endian, const unsigned char* bytes, std::size_t size) {
  for (std::size_t at = 0; at < size; at += 8) {
    sums.first += word(bytes + at, big_endian) + sums.second;
    sums.second += word(bytes + at + 4, big_endian) + sums.first;
  }
  return sums;
}

}  // namespace

std::optional<WalHeader> read_wal_header(const unsigned char* bytes) {
  constexpr std::uint32_t magic = 0x377f0682;  // its lowest bit: byte order of the sums
  const std::uint32_t found = big_endian_word(bytes);
  if ((found & ~1u) != magic) return {};
  WalHeader header{(found & 1) != 0,
                   big_endian_word(bytes + 8),
                   big_endian_word(bytes + 16),
                   big_endian_word(bytes + 20),
                   {big_endian_word(bytes + 24), big_endian_word(bytes + 28)}};
  const bool possible_page = header.page_bytes >= 512 && header.page_bytes <= 65'536 &&
                             std::has_single_bit(header.page_bytes);
  if (!possible_page || add({}, header.big_endian, bytes, 24) != header.sums) return {};
  return header;
}

WalFrameHeader read_wal_frame_header(const unsigned char* bytes) {
  return {big_endian_word(bytes),
          big_endian_word(bytes + 4),
          big_endian_word(bytes + 8),
          big_endian_word(bytes + 12),
          {big_endian_word(bytes + 16), big_endian_word(bytes + 20)}};
}

bool wal_frame_fits(bool big_endian, const WalSums& before, const unsigned char* frame_header,
                    const unsigned char* page, std::size_t page_bytes) {
  return add(add(before, big_endian, frame_header, 8), big_endian, page, page_bytes) ==
         read_wal_frame_header(frame_header).sums;
}

namespace {

WalState examine_frames(const std::optional<WalHeader>& header, std::size_t page_bytes,
                        std::uint64_t file_bytes, const ReadAt& read) {
  WalState state;
  const std::uint64_t frame_bytes = wal_frame_header_bytes + page_bytes;
  std::vector<unsigned char> frame(frame_bytes);

  std::optional<WalFrameHeader> previous;
  std::uint64_t first_bad = 0;  // frames count from 1
  bool committed_after_bad = false;
  bool follows_commit = false;  // this frame and all before it, back to a commit, are sound
  for (std::uint64_t number = 1; wal_header_bytes + number * frame_bytes <= file_bytes; ++number) {
    if (!read(frame.data(), frame.size(), wal_header_bytes + (number - 1) * frame_bytes)) break;
    const WalFrameHeader found = read_wal_frame_header(frame.data());
    const WalSums* before = previous ? &previous->sums : header ? &header->sums : nullptr;
    const WalFrameHeader* neighbour = previous ? &*previous : nullptr;
    // The salts change each time the log restarts: frames of an earlier round do not belong to it.
    const bool same_round = header
                                ? found.salt_1 == header->salt_1 && found.salt_2 == header->salt_2
                                : neighbour != nullptr && found.salt_1 == neighbour->salt_1 &&
                                      found.salt_2 == neighbour->salt_2;
    const bool fits =
        same_round && found.page != 0 && before != nullptr &&
        wal_frame_fits(header ? header->big_endian : std::endian::native == std::endian::big,
                       *before, frame.data(), frame.data() + wal_frame_header_bytes, page_bytes);
    if (fits && !header) {
      state.damage = "its header is damaged, and commits follow";
      return state;
    }
    // Frames of a rolled-back transaction may follow the end in the same round with right sums.
    // They are not damage: they contain no commit and do not follow one, because a later commit was
    // written over their beginning.
    follows_commit = fits && (follows_commit || (previous && previous->commits()));
    if (committed_after_bad && fits && (found.commits() || follows_commit)) {
      state.damage = "frame " + std::to_string(first_bad) + " is damaged, and later commits follow";
      return state;
    }
    if (!fits && first_bad == 0) first_bad = number;
    if (first_bad == 0 && found.commits())
      state.committed_bytes = wal_header_bytes + number * frame_bytes;
    // A bad frame of this round that is marked as a commit counts as one: only its page is damaged.
    if (first_bad != 0 && same_round && found.commits()) committed_after_bad = true;
    previous = found;
  }
  return state;
}

}  // namespace

WalState examine_wal(std::uint64_t file_bytes, const ReadAt& read) {
  unsigned char start[wal_header_bytes];
  if (file_bytes <= wal_header_bytes || !read(start, sizeof start, 0)) return {};
  const std::optional<WalHeader> header = read_wal_header(start);
  if (header) return examine_frames(header, header->page_bytes, file_bytes, read);
  // Without a sound header the page size is unknown.
  WalState state = examine_frames({}, sqlite_page_bytes, file_bytes, read);
  return state.damage.empty() ? examine_frames({}, 4'096, file_bytes, read) : state;
}

}  // namespace exchange
