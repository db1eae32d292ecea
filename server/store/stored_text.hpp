#pragma once
// Reading back what a store holds as text. Throws StoreCorrupt for what we cannot have written.

#include <charconv>

#include "store/store.hpp"

namespace exchange {

inline AccountId stored_account_id(std::string_view text) {
  const auto id = parse_account_id(text);
  if (!id) throw StoreCorrupt("accounts: '" + std::string(text) + "' is no account id");
  return *id;
}

inline SymbolName stored_symbol_name(std::string_view text) {
  const auto name = parse_symbol_name(text);
  if (!name) throw StoreCorrupt("symbols: '" + std::string(text) + "' is no symbol");
  return *name;
}

inline Cash stored_cash(std::string_view text) {
  const auto units = parse_units(text);
  if (!units) throw StoreCorrupt("'" + std::string(text) + "' is no amount of cash");
  return Cash::from_units(units.value);
}

// "scrypt:14:8:1:SALT:DIGEST", in hex.
inline std::string key_text(const KeyHash& key) {
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

inline KeyHash stored_key(std::string_view text) {
  KeyHash key;
  std::string_view rest = text;
  const auto number = [&](std::size_t digits_max, int base) {
    unsigned value = 256;
    const auto [end, problem] =
        std::from_chars(rest.data(), rest.data() + std::min(digits_max, rest.size()), value, base);
    if (problem != std::errc() || value > 255)
      throw StoreCorrupt("account_keys holds no hash that we wrote");
    rest.remove_prefix(std::size_t(end - rest.data()));
    return std::uint8_t(value);
  };
  const auto skip = [&](std::string_view expected) {
    if (!rest.starts_with(expected)) throw StoreCorrupt("account_keys holds no hash that we wrote");
    rest.remove_prefix(expected.size());
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
  if (!rest.empty() || key_text(key) != text)
    throw StoreCorrupt("account_keys holds no hash that we wrote");
  return key;
}

}  // namespace exchange
