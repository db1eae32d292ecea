#pragma once
// Hashes of keys with scrypt (RFC 7914). Any thread; during its call each function needs 128 r
// 2^log2_n bytes.

#include <cstdint>
#include <string_view>

#include "engine/key_hash.hpp"

namespace exchange {

// Hashes with a new random salt. Throws std::runtime_error if there is no memory or no randomness.
KeyHash hash_key(std::string_view key, std::uint8_t log2_n);
// Returns the log2_n for `key`: the least one for a generated key (generated_key.hpp), else the
// given one.
std::uint8_t cost_for(std::string_view key, std::uint8_t log2_n);
// Returns true if a check against `hash` takes microseconds, because it is the hash of a generated
// key.
bool is_quick(const KeyHash& hash);
// Returns true if `hash` is of `key`. Computes one hash with the parameters of `hash`; the
// comparison takes the same time wherever they differ. Throws as above.
bool is_hash_of(std::string_view key, const KeyHash& hash);

}  // namespace exchange
