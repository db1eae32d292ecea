#pragma once
// The keys that came with the requests of a batch, as the protocol reads them: what the
// authenticator (auth/authenticator.hpp) checks before the commands are submitted. There are some
// only if accounts have keys.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/commands.hpp"

namespace exchange {

inline constexpr std::size_t key_bytes_min = 8, key_bytes_max = 128;
inline bool is_key(std::string_view key) {
  return key.size() >= key_bytes_min && key.size() <= key_bytes_max;
}
// Of one request, and about of a request batch: each may cost a hash.
inline constexpr std::size_t keys_per_batch_max = 256;

// The id of the operator's login, which no account has.
inline const AccountId operator_id("");

struct Credential {
  // `create` gives an account its key, or another. `operate` is the login of the operator, or of an
  // account that is one, for a request of creations: what it creates follows, and is the last of
  // its batch.
  enum class Use : std::uint8_t { create, login, operate };
  Use use;
  AccountId account;
  std::string key;                                // empty if none came, or none that could be one
  std::uint32_t first_command = 0, commands = 0;  // the commands of the batch that depend on it
  // of a login: instead of the account's key as it is now
  const KeyHash* hash = nullptr;
};

}  // namespace exchange
