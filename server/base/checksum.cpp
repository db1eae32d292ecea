#include "base/checksum.hpp"

#include <boost/crc.hpp>
#include <boost/endian/conversion.hpp>

namespace exchange {

std::uint64_t page_checksum(const unsigned char* bytes, std::size_t size, std::uint64_t seed) {
  // Four lanes, so that the CPU overlaps their multiplications. Every step is reversible, so that a
  // change within one word always changes the result.
  constexpr std::uint64_t odd = 0x9E37'79B9'7F4A'7C15;
  const auto step = [](std::uint64_t& lane, std::uint64_t word) {
    lane = (lane + word) * odd;
    lane ^= lane >> 32;
  };
  std::uint64_t lanes[4] = {seed + 1, seed ^ odd, ~seed, seed * odd};
  for (std::size_t at = 0; at < size; at += 32)
    for (int lane = 0; lane < 4; ++lane)
      step(lanes[lane], boost::endian::load_little_u64(bytes + at + std::size_t(8 * lane)));
  for (int lane = 1; lane < 4; ++lane) step(lanes[0], lanes[lane]);
  return lanes[0];
}

std::uint32_t crc32(std::string_view bytes) {
  boost::crc_32_type crc;
  crc.process_bytes(bytes.data(), bytes.size());
  return crc.checksum();
}

}  // namespace exchange
