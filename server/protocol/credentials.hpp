#pragma once
// Whose word the requests of a request batch are: the keys that came with them, for the
// authenticator in front of the core (auth/authenticator.hpp), and what the authenticator remembers
// of a session. Exists only where accounts have keys. Owner: the session, or whoever reads a single
// request; the authenticator's while a submission is on its way. Thread: one at a time.

#include <array>
#include <cstdint>
#include <span>
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
  std::string key;  // empty where none came, or none that could be one
  std::uint32_t first_command = 0, commands = 0;  // those that stand on it
};

// An address of the other side, as fairness counts it: all of IPv4, the network of IPv6.
using Peer = std::uint64_t;

struct Credentials {
  // The batch.
  std::vector<Credential> batch;
  std::span<Command> commands;
  std::size_t verified = 0;  // so many of `batch` are done with
  bool creates() const { return !batch.empty() && batch.back().use == Credential::Use::create; }

  // The session: accounts that it has logged in to, newest last, each with a digest of the key that
  // did it.
  struct Login {
    AccountId account;
    std::array<std::uint8_t, 32> digest;
  };
  std::vector<Login> logins;
  Peer peer = 0;
};

}  // namespace exchange
