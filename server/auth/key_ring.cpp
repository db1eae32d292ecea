#include "auth/key_ring.hpp"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <stdexcept>
#include <string>

namespace exchange {
namespace {

constexpr std::size_t proofs_max = 16'384;  // of right keys, and of wrong ones: some 2 MiB each

using Secret = std::array<std::uint8_t, 32>;

Secret make_secret() {
  Secret secret;
  if (RAND_bytes(secret.data(), int(secret.size())) != 1)
    throw std::runtime_error("no random bytes for the proofs of keys");
  return secret;
}

KeyProof hmac(std::string_view text) {
  static const Secret secret = make_secret();
  KeyProof proof{};
  unsigned size = 0;
  const auto* const bytes = reinterpret_cast<const unsigned char*>(text.data());
  if (HMAC(EVP_sha256(), secret.data(), int(secret.size()), bytes, text.size(), proof.data(),
           &size) == nullptr ||
      size != proof.size())
    throw std::runtime_error("HMAC failed: no memory?");
  return proof;
}

template <class Bytes>
void append(std::string& text, const Bytes& bytes) {
  text.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

}  // namespace

KeyProof make_proof(std::string_view key) { return hmac(key); }

KeyProof make_proof(const AccountId& account, const KeyHash& hash, std::string_view key) {
  std::string text;
  append(text, hash.salt);  // the fields before the key end unambiguously
  append(text, hash.digest);
  text += char(account.view().size());
  text += account.view();
  text += key;
  const KeyProof proof = hmac(text);
  OPENSSL_cleanse(text.data(), text.size());
  return proof;
}

bool is_same(const KeyProof& a, const KeyProof& b) {
  return CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

std::optional<bool> KnownKeys::find(const KeyProof& proof) {
  return known_.with([&](const Known& known) -> std::optional<bool> {
    if (known.right.proofs.contains(proof)) return true;
    if (known.wrong.proofs.contains(proof)) return false;
    return {};
  });
}

void KnownKeys::add(const KeyProof& proof, bool right) {
  known_.with([&](Known& known) { (right ? known.right : known.wrong).add(proof); });
}

void KnownKeys::Newest::add(const KeyProof& proof) {
  if (!proofs.insert(proof).second) return;
  order.push_back(proof);
  if (order.size() <= proofs_max) return;
  proofs.erase(order.front());
  order.pop_front();
}

}  // namespace exchange
