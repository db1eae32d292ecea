#pragma once
// KeyCheck is the state of one connection for the authenticator: the accounts that it is logged in
// to, including the operator, and the request batch whose keys must be checked.
// Owner: ClientSession; the authenticator from check() until on_done. Thread: one at a time.

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "auth/credentials.hpp"
#include "auth/known_keys.hpp"
#include "base/peer_address.hpp"

namespace exchange {

struct KeyCheck {
  struct Login {
    AccountId account;
    KeyProof key;           // proof of the key alone
    std::uint64_t version;  // KeyRing::version() of the account for which it holds
  };

  // `socket` is the client's; a check ends with its connection. -1: unknown, so the check always
  // runs.
  explicit KeyCheck(const PeerAddress& address_, int socket_ = -1)
      : address(address_), socket(socket_) {}
  // The authenticator wipes the keys once they are checked, and changes commands without the right
  // key.
  void begin_batch(std::span<Credential> batch_credentials, std::span<Command> batch_commands) {
    credentials = batch_credentials;
    commands = batch_commands;
    checked = 0;
    refused = false;
    creations_refused = 0;
  }
  // Returns the commands that the core may execute.
  std::span<const Command> accepted() const {
    return commands.first(commands.size() - creations_refused);
  }
  bool is_logged_in(const AccountId& account) const {
    for (const Login& login : logins)
      if (login.account == account) return true;
    return false;
  }

  const PeerAddress address;  // for limits and turns
  const int socket;
  std::vector<Login> logins;      // newest last
  std::uint64_t key_version = 0;  // KeyRing::version() for which all logins hold

  // The batch.
  std::span<Credential> credentials;
  std::span<Command> commands;
  std::size_t checked = 0;            // number of credentials checked
  bool refused = false;               // the keys could not be checked: nothing may be executed
  std::size_t creations_refused = 0;  // the last of `commands`, without the operator's key
  std::function<void()> on_done;      // called once for each check()
};

}  // namespace exchange
