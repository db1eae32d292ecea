#pragma once
// KeyRing knows the hash of each account's key, and of the operator's, for logging in, and which
// accounts are operators. Filled at recovery, and when changes are committed: never before, or a
// client could log in to what a crash takes back. That of a standby server is filled when it has
// read them; they open nothing there but the dashboard. Owner: main. Any thread.

#include <atomic>
#include <map>
#include <optional>
#include <string>

#include "auth/known_keys.hpp"
#include "base/guarded.hpp"
#include "engine/login_change.hpp"

namespace exchange {

class KeyRing {
 public:
  // One without a hash ends all logins.
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
  // Nothing for an account that does not exist, or has no key.
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
  // Results of checks of these keys.
  KnownKeys& known() { return known_; }
  // Another one once a login that was good may be so no more: of any account, or of this one.
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
