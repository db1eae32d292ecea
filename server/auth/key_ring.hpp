#pragma once
// KeyRing knows the hash of each account's key, and of the operator's, for logging in. Filled at
// recovery, and when creations are committed: never before, or a client could log in to what a
// crash takes back. That of a standby server is filled when it has read them; they open nothing
// there but the dashboard. Owner: main. Any thread.

#include <map>
#include <optional>
#include <string>

#include "base/guarded.hpp"
#include "engine/ids.hpp"
#include "engine/key_hash.hpp"

namespace exchange {

class KeyRing {
 public:
  // The first one stays: a key never changes.
  void add(const AccountId& account, const KeyHash& key) {
    keys_.with([&](Keys& keys) { keys.emplace(account.view(), key); });
  }
  // Nothing for an account that does not exist, or has no key.
  std::optional<KeyHash> find(const AccountId& account) {
    return keys_.with([&](Keys& keys) -> std::optional<KeyHash> {
      const auto found = keys.find(account.view());
      return found == keys.end() ? std::nullopt : std::optional(found->second);
    });
  }
  std::size_t size() {
    return keys_.with([](Keys& keys) { return keys.size(); });
  }

 private:
  // a tree: clients cannot choose ids that collide
  using Keys = std::map<std::string, KeyHash, std::less<>>;
  Guarded<Keys> keys_;
};

}  // namespace exchange
