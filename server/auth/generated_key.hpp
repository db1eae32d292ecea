#pragma once
// A generated key has the form that `openssl rand -hex 24` prints and that our clients make: 48
// hexadecimal digits in lower case, 192 random bits. Such a key cannot be guessed, so a slow hash
// would not protect it better (NIST SP 800-63B, look-up secrets of at least 112 bits): the server
// hashes it with the least cost. Pure functions.

#include <bitset>
#include <string_view>

namespace exchange {

inline constexpr std::size_t generated_key_bytes = 48;

// A text with few different digits is not random, even if it has the form: one random key in 10^13
// has fewer than `different_min`.
inline bool is_generated_key(std::string_view key) {
  constexpr std::string_view digits = "0123456789abcdef";
  constexpr std::size_t different_min = 8;
  std::bitset<digits.size()> seen;
  if (key.size() != generated_key_bytes) return false;
  for (const char c : key) {
    const std::size_t digit = digits.find(c);
    if (digit == digits.npos) return false;
    seen.set(digit);
  }
  return seen.count() >= different_min;
}

}  // namespace exchange
