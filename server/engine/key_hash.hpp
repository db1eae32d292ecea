#pragma once
// The stored form of an account's key: a scrypt hash with its salt and parameters, so that later
// hashes may cost more. The engine carries it from the command that creates an account to the rows,
// and never interprets it.

#include <array>
#include <cstdint>

#include "base/described.hpp"

namespace exchange {

struct KeyHash {
  // scrypt's cost: 128 r 2^log2_n bytes of memory; log2_n 0 means no key
  std::uint8_t log2_n = 0, r = 0, p = 0;
  std::array<std::uint8_t, 16> salt{};
  // 224 bits: with this size CreateAccount is not larger than Command was without it
  std::array<std::uint8_t, 28> digest{};
  bool has_key() const { return log2_n != 0; }
  bool operator==(const KeyHash&) const = default;
};
BOOST_DESCRIBE_STRUCT(KeyHash, (), (log2_n, r, p, salt, digest))

}  // namespace exchange
