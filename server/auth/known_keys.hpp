#pragma once
// KnownKeys remembers the newest results of slow checks, so that a client that connects again with
// the right key, or that tries one wrong key again and again, costs no hash. It keeps proofs, not
// keys: a proof holds for one account, one stored hash and one key, so that it ends when the key of
// the account changes. Owner: KeyRing. Any thread.

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <string_view>

#include "base/guarded.hpp"
#include "engine/ids.hpp"
#include "engine/key_hash.hpp"

namespace exchange {

// HMAC-SHA-256 with a secret that this process has made: a proof reveals nothing without the
// process.
using KeyProof = std::array<std::uint8_t, 32>;
// Throws std::runtime_error if there are no random bytes, or no memory.
KeyProof make_proof(const AccountId& account, const KeyHash& hash, std::string_view key);
// Makes a proof of the key alone.
KeyProof make_proof(std::string_view key);
bool is_same(const KeyProof& a, const KeyProof& b);  // in constant time

class KnownKeys {
 public:
  // Returns whether the key was right; nothing if that is not known, or no longer known.
  std::optional<bool> find(const KeyProof& proof);
  void add(const KeyProof& proof, bool right);

 private:
  // A set that drops its oldest proof first.
  struct Newest {
    std::set<KeyProof> proofs;
    std::deque<KeyProof> order;
    void add(const KeyProof& proof);
  };
  struct Known {
    Newest right, wrong;  // separate: wrong keys do not displace right ones
  };
  Guarded<Known> known_;
};

}  // namespace exchange
