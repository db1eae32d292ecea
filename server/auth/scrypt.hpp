#pragma once
// Hashes of keys with scrypt (RFC 7914). Any thread; each call takes 128 r 2^log2_n bytes for its
// time.

#include <cstdint>
#include <string_view>

#include "engine/key_hash.hpp"

namespace exchange {

// With a new random salt. Throws std::runtime_error where there is no memory or no randomness.
KeyHash hash_key(std::string_view key, std::uint8_t log2_n);
// The log2_n for `key`: the least for a generated one (generated_key.hpp), else the given one.
std::uint8_t cost_for(std::string_view key, std::uint8_t log2_n);
// Whether to check a key against it takes microseconds: it is the hash of a generated key.
bool is_quick(const KeyHash& hash);
// Whether `hash` is of `key`: one hash with its own parameters, and a comparison that takes the
// same time wherever they differ. Throws as above.
bool is_hash_of(std::string_view key, const KeyHash& hash);

}  // namespace exchange
