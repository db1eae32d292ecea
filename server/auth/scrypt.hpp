#pragma once
// Hashes of keys with scrypt (RFC 7914). Any thread; during its call each function that hashes
// needs 128 r 2^log2_n bytes.
// A generated key has the form that `openssl rand -hex 24` prints and that our clients make: 48
// hexadecimal digits in lower case, 192 random bits. Such a key cannot be guessed, so a slow hash
// would not protect it better (NIST SP 800-63B, look-up secrets of at least 112 bits): the server
// hashes it with the least cost.

#include <cstdint>
#include <string_view>

#include "engine/key_hash.hpp"

namespace exchange {

// Hashes with a new random salt. Throws std::runtime_error if there is no memory or no randomness.
KeyHash hash_key(std::string_view key, std::uint8_t log2_n);
// Whether `key` has the form of a generated key. A text with few different digits is not random:
// one random key in 10^13 has fewer than this function requires.
bool is_generated_key(std::string_view key);
// Returns the log2_n for `key`: the least one for a generated key, else the given one.
std::uint8_t cost_for(std::string_view key, std::uint8_t log2_n);
// Returns true if a check against `hash` takes microseconds, because it is the hash of a generated
// key.
bool is_quick(const KeyHash& hash);
// Returns true if `hash` is of `key`. Computes one hash with the parameters of `hash`; the
// comparison takes the same time wherever they differ. Throws as above.
bool is_hash_of(std::string_view key, const KeyHash& hash);

}  // namespace exchange
