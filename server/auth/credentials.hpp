#pragma once
// The keys that came with the requests of a batch, as the protocol reads them. The authenticator
// (auth/authenticator.hpp) checks them before the commands are submitted. A batch has credentials
// only if accounts have keys.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/commands.hpp"

namespace exchange {

inline constexpr std::size_t key_bytes_min = 8, key_bytes_max = 128;
inline bool is_key(std::string_view key) {
  return key.size() >= key_bytes_min && key.size() <= key_bytes_max;
}
// The limit for one request. A request batch ends once it has reached this number, because each key
// may cost a hash.
inline constexpr std::size_t keys_per_batch_max = 256;

// The id of the operator's login, which no account has.
inline const AccountId operator_id("");

struct Credential {
  // `create` gives an account its first key or a new one. `operate` is the login of the operator,
  // or of an account that is an operator, for a request of creations. The request's creations
  // follow it, and end the batch.
  enum class Use : std::uint8_t { create, login, operate };
  Use use;
  AccountId account;
  std::string key;                                // empty if none came, or one of impossible form
  std::uint32_t first_command = 0, commands = 0;  // the commands of the batch that depend on it
  // a login is checked against this hash instead of the account's current key
  const KeyHash* hash = nullptr;
};

// Reads the login of an HTTP request, as in "Authorization: Basic base64(account:key)". Returns
// nothing if the field is absent or has another form.
std::optional<Credential> read_basic_credentials(std::string_view authorization);

}  // namespace exchange
