#pragma once
// LoginChange is what a command changes of logging in: the key of an account, and what it is good
// for.

#include <optional>

#include "engine/commands.hpp"

namespace exchange {

struct LoginChange {
  AccountId account;
  std::optional<KeyHash> key = {};  // one without a hash: it was revoked
  std::optional<Role> role = {};
};

// Of a command that was accepted; nothing if it changes no login.
inline std::optional<LoginChange> login_change_of(const Command& command) {
  if (const auto* created = std::get_if<CreateAccount>(&command);
      created != nullptr && created->key.has_key())
    return LoginChange{created->account, created->key};
  if (const auto* changed = std::get_if<SetKey>(&command))
    return LoginChange{changed->account, changed->key};
  if (const auto* set = std::get_if<SetAccount>(&command); set != nullptr && set->role)
    return LoginChange{set->account, {}, set->role};
  return {};
}

}  // namespace exchange
