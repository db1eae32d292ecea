#pragma once
// What is kept of an account's key: a scrypt hash with the salt and the parameters that it was made
// with, so that later ones may be costlier. The engine carries it from the command that creates an
// account to the rows, and never looks inside.

#include <array>
#include <cstdint>

#include "base/described.hpp"

namespace exchange {

struct KeyHash {
  // scrypt's cost: 128 r 2^log2_n bytes of memory; log2_n 0: there is no key
  std::uint8_t log2_n = 0, r = 0, p = 0;
  std::array<std::uint8_t, 16> salt{};
  // 224 bits: with them CreateAccount is no larger than Command was without
  std::array<std::uint8_t, 28> digest{};
  bool has_key() const { return log2_n != 0; }
  bool operator==(const KeyHash&) const = default;
};
BOOST_DESCRIBE_STRUCT(KeyHash, (), (log2_n, r, p, salt, digest))

}  // namespace exchange
