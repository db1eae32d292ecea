#pragma once
// Makes journal records of any bytes.

#include <string>

#include "base/checksum.hpp"

namespace exchange::testing {

// Returns these bytes as a record with a correct checksum.
inline std::string sealed(std::string body) {
  const std::uint32_t sum = crc32(body);
  for (int i = 0; i < 4; ++i) body += char(sum >> (8 * i));
  return body;
}

}  // namespace exchange::testing
