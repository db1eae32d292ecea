#pragma once
// KeyCheck is one connection before the authenticator: the accounts that it is logged in to, the
// operator's among them, and the request batch whose keys are to be checked. Owner: the
// conversation, or the coroutine of one HTTP request; the authenticator's from check() until
// on_done. Thread: one at a time.

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/peer_address.hpp"
#include "protocol/credentials.hpp"

namespace exchange {

struct KeyCheck {
  struct Login {
    AccountId account;
    std::array<std::uint8_t, 32> digest;  // of the key
    std::uint64_t version;                // KeyRing::version() of the account for which it holds
  };

  explicit KeyCheck(const PeerAddress& address_) : address(address_) {}
  // The keys are wiped once they are checked; commands without the right key are changed.
  void begin_batch(std::span<Credential> batch_credentials, std::span<Command> batch_commands) {
    credentials = batch_credentials;
    commands = batch_commands;
    checked = 0;
    refused = false;
    creations_refused = 0;
  }
  // What the core may execute.
  std::span<const Command> accepted() const {
    return commands.first(commands.size() - creations_refused);
  }
  bool is_logged_in(const AccountId& account) const {
    for (const Login& login : logins)
      if (login.account == account) return true;
    return false;
  }

  const PeerAddress address;      // for limits and turns
  std::vector<Login> logins;      // newest last
  std::uint64_t key_version = 0;  // KeyRing::version() for which all of them hold

  // The batch.
  std::span<Credential> credentials;
  std::span<Command> commands;
  std::size_t checked = 0;            // so many of `credentials`
  bool refused = false;               // the keys could not be checked: nothing may be executed
  std::size_t creations_refused = 0;  // without the operator's key: the last of `commands`
  std::function<void()> on_done;      // called once for each check()
};

}  // namespace exchange
