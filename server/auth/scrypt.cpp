#include "auth/scrypt.hpp"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>

#include <bitset>
#include <stdexcept>

namespace exchange {
namespace {

constexpr std::uint8_t block_size = 8, parallel = 1;
constexpr std::uint8_t quick_log2_n = 1;  // the least cost that scrypt has
constexpr unsigned log2_n_max = 24;       // 16 GiB: a larger value is damage, not a parameter

std::array<std::uint8_t, KeyHash{}.digest.size()> digest_of(std::string_view key,
                                                            const KeyHash& cost) {
  if (cost.log2_n == 0 || cost.log2_n > log2_n_max || cost.r == 0 || cost.p == 0)
    throw std::runtime_error("a key's hash has parameters out of range");
  const std::uint64_t n = std::uint64_t(1) << cost.log2_n;
  const std::uint64_t memory_max = 128 * cost.r * (n + cost.p + 2) + (1 << 20);
  std::array<std::uint8_t, KeyHash{}.digest.size()> digest{};
  if (EVP_PBE_scrypt(key.data(), key.size(), cost.salt.data(), cost.salt.size(), n, cost.r, cost.p,
                     memory_max, digest.data(), digest.size()) != 1)
    throw std::runtime_error("scrypt failed: no memory?");
  return digest;
}

}  // namespace

KeyHash hash_key(std::string_view key, std::uint8_t log2_n) {
  KeyHash hash{.log2_n = log2_n, .r = block_size, .p = parallel};
  if (RAND_bytes(hash.salt.data(), int(hash.salt.size())) != 1)
    throw std::runtime_error("no random bytes for a salt");
  hash.digest = digest_of(key, hash);
  return hash;
}

bool is_generated_key(std::string_view key) {
  constexpr std::size_t generated_key_bytes = 48, different_min = 8;
  constexpr std::string_view digits = "0123456789abcdef";
  std::bitset<digits.size()> seen;
  if (key.size() != generated_key_bytes) return false;
  for (const char c : key) {
    const std::size_t digit = digits.find(c);
    if (digit == digits.npos) return false;
    seen.set(digit);
  }
  return seen.count() >= different_min;
}

std::uint8_t cost_for(std::string_view key, std::uint8_t log2_n) {
  return is_generated_key(key) ? quick_log2_n : log2_n;
}

bool is_quick(const KeyHash& hash) { return hash.log2_n == quick_log2_n; }

bool is_hash_of(std::string_view key, const KeyHash& hash) {
  const auto digest = digest_of(key, hash);
  return CRYPTO_memcmp(digest.data(), hash.digest.data(), digest.size()) == 0;
}

}  // namespace exchange
