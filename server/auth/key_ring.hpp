#pragma once
// KeyRing knows the hash of each account's key and of the operator's, for logging in, and which
// accounts are operators. It is filled at recovery, and when changes are committed: never before,
// or a client could log in to an account that a crash removes. The key ring of a standby server is
// filled when the standby has read the keys; there they give access only to the dashboard. Owner:
// main. Any thread.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/guarded.hpp"
#include "engine/login_change.hpp"

namespace exchange {

// HMAC-SHA-256 with a secret that this process has made: a proof reveals nothing without the
// process.
using KeyProof = std::array<std::uint8_t, 32>;
// Throws std::runtime_error if there are no random bytes, or no memory.
KeyProof make_proof(const AccountId& account, const KeyHash& hash, std::string_view key);
// Makes a proof of the key alone.
KeyProof make_proof(std::string_view key);
bool is_same(const KeyProof& a, const KeyProof& b);  // in constant time

// Remembers the newest results of slow checks, so that a client that connects again with the right
// key, or that tries one wrong key again and again, costs no hash. It keeps proofs, not keys: a
// proof holds for one account, one stored hash and one key, so that it ends when the key of the
// account changes.
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

class KeyRing {
 public:
  // Sets the hash of an account's key. If the account had a key, its logins end. An empty hash
  // allows no login.
  void set_key(const AccountId& account, const KeyHash& key) {
    logins_.with([&](Logins& logins) {
      Login& login = logins[std::string(account.view())];
      if (login.key.has_key()) login.version = ++version_;
      login.key = key;
    });
  }
  void set_role(const AccountId& account, Role role) {
    logins_.with([&](Logins& logins) { logins[std::string(account.view())].role = role; });
  }
  void change(const LoginChange& change) {
    if (change.key) set_key(change.account, *change.key);
    if (change.role) set_role(change.account, *change.role);
  }
  // Returns nothing for an account that does not exist or has no key.
  std::optional<KeyHash> find(const AccountId& account) {
    return logins_.with([&](Logins& logins) -> std::optional<KeyHash> {
      const auto found = logins.find(account.view());
      if (found == logins.end() || !found->second.key.has_key()) return {};
      return found->second.key;
    });
  }
  bool is_operator(const AccountId& account) {
    return logins_.with([&](Logins& logins) {
      const auto found = logins.find(account.view());
      return found != logins.end() && found->second.role == Role::market_operator;
    });
  }
  // Results of earlier checks of these keys.
  KnownKeys& known() { return known_; }
  // The version changes when a login that was good may no longer be good: of any account, or of
  // this one.
  std::uint64_t version() const { return version_; }
  std::uint64_t version(const AccountId& account) {
    return logins_.with([&](Logins& logins) {
      const auto found = logins.find(account.view());
      return found == logins.end() ? 0 : found->second.version;
    });
  }

 private:
  struct Login {
    KeyHash key;
    Role role = Role::trader;
    std::uint64_t version = 0;  // when the key changed last
  };
  // a tree: clients cannot choose ids that collide
  using Logins = std::map<std::string, Login, std::less<>>;
  Guarded<Logins> logins_;
  KnownKeys known_;
  std::atomic<std::uint64_t> version_ = 0;
};

}  // namespace exchange
