#pragma once
// LoginChange is the effect of a command on logins: the key of an account, and its role.

#include <optional>

#include "engine/commands.hpp"

namespace exchange {

struct LoginChange {
  AccountId account;
  std::optional<KeyHash> key = {};  // a key without a hash was revoked
  std::optional<Role> role = {};
};

// Returns the change of a command that was accepted; nothing if it does not affect logins.
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
