#pragma once
// The keys that came with the requests of a batch, as the protocol reads them: what the
// authenticator (auth/authenticator.hpp) checks before the commands are submitted. There are some
// only if accounts have keys.

#include <cstdint>
#include <string>
#include <vector>

#include "engine/commands.hpp"

namespace exchange {

inline constexpr std::size_t key_bytes_min = 8, key_bytes_max = 128;
// Of one request, and about of a request batch: each may cost a hash.
inline constexpr std::size_t keys_per_batch_max = 256;

struct Credential {
  enum class Use : std::uint8_t { create, login };
  Use use;
  AccountId account;
  std::string key;                                // empty if none came, or none that could be one
  std::uint32_t first_command = 0, commands = 0;  // the commands of the batch that depend on it
};

}  // namespace exchange
