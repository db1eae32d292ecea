#pragma once
// The checksums of what the server stores. They detect accidents, not attacks. Pure functions; any
// thread.

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace exchange {

// Returns a checksum of `size` bytes, a multiple of 32, and of `seed`. A change within one aligned
// word of 8 bytes always changes it.
std::uint64_t page_checksum(const unsigned char* bytes, std::size_t size, std::uint64_t seed);

// CRC-32 (IEEE 802.3).
std::uint32_t crc32(std::string_view bytes);

}  // namespace exchange
