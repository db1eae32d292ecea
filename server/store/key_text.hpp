#pragma once
// The text of a key hash in tables. It is empty if there is no key; else it is
// scrypt:LOG2_N:R:P:SALT:DIGEST. The costs are decimal, 1 to 3 digits, 0 to 255; SALT is 32 and
// DIGEST 56 digits of lower-case hex. No state; any thread.

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>

#include "engine/key_hash.hpp"

namespace exchange {

inline std::string key_text(const KeyHash& key) {
  if (!key.has_key()) return {};
  std::string text = "scrypt:" + std::to_string(key.log2_n) + ":" + std::to_string(key.r) + ":" +
                     std::to_string(key.p);
  const auto add_hex = [&](const auto& bytes) {
    text += ':';
    for (const std::uint8_t byte : bytes)
      (text += "0123456789abcdef"[byte >> 4]) += "0123456789abcdef"[byte & 15];
  };
  add_hex(key.salt);
  add_hex(key.digest);
  return text;
}

// Returns nothing for a text that key_text() does not write.
inline std::optional<KeyHash> parse_key_text(std::string_view text) {
  KeyHash key;
  if (text.empty()) return key;
  std::string_view rest = text;
  bool valid = true;
  const auto number = [&](std::size_t digits_max, int base) {
    unsigned value = 256;
    const auto [end, problem] =
        std::from_chars(rest.data(), rest.data() + std::min(digits_max, rest.size()), value, base);
    valid = valid && problem == std::errc() && value <= 255;
    rest.remove_prefix(std::size_t(end - rest.data()));
    return std::uint8_t(value);
  };
  const auto skip = [&](std::string_view expected) {
    valid = valid && rest.starts_with(expected);
    rest.remove_prefix(std::min(expected.size(), rest.size()));
  };
  skip("scrypt:");
  key.log2_n = number(3, 10);
  skip(":");
  key.r = number(3, 10);
  skip(":");
  key.p = number(3, 10);
  skip(":");
  for (std::uint8_t& byte : key.salt) byte = number(2, 16);
  skip(":");
  for (std::uint8_t& byte : key.digest) byte = number(2, 16);
  if (!valid || key_text(key) != text) return {};
  return key;
}

}  // namespace exchange
