#pragma once
// Journal records of any bytes.

#include <boost/crc.hpp>
#include <string>

namespace exchange::testing {

// These bytes as a record with its right checksum.
inline std::string sealed(std::string body) {
  boost::crc_32_type crc;
  crc.process_bytes(body.data(), body.size());
  for (int i = 0; i < 4; ++i) body += char(crc.checksum() >> (8 * i));
  return body;
}

}  // namespace exchange::testing
