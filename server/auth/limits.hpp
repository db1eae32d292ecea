#pragma once
// Limits of keys and their hashing. The command line sets them (options.hpp).

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/option.hpp"

namespace exchange {

struct AuthLimits {
  bool required = false;
  std::string operator_key_file;
  // id of the user of this machine whose requests need no key on a UNIX-domain socket
  std::optional<std::uint32_t> trusted_user;
  // number of threads that hash keys; each needs the memory of scrypt_log2_n. The server has one
  // for each CPU, at most threads_max
  unsigned threads = 1;
  static constexpr unsigned threads_max = 4;
  // nice value of all hashing threads but the first. After a takeover all clients log in at once,
  // and CPUs are idle until they have. The first thread has its share of a busy host, so that a
  // login takes milliseconds there too.
  int nice_of_others = 19;
  // accounts that one connection stays logged in to; the oldest goes first
  std::size_t session_logins_max = 16;
  // request batches of one address whose keys wait to be hashed; more are refused
  std::size_t checks_per_address_max = 1'024;
  // log2 of the cost of scrypt. With r = 8, a hash takes 16 MiB and some 50 ms. It is stored with
  // each hash, so it may be raised
  std::uint8_t scrypt_log2_n = 14;
};
template <class Add>
void add_options(AuthLimits& limits, Add add) {
  add("--auth", limits.required,
      "accounts have keys: set at creation, required to trade (docs/security.md)");
  add("--operator-key-file", limits.operator_key_file,
      "required by --auth: file of the key of the operator, who creates and changes accounts and "
      "symbols (docs/operator.md)");
  add("--trust-user", limits.trusted_user,
      "user of this machine, by name or id, who needs no keys on the socket of --listen "
      "(docs/security.md)",
      UserName{});
}

}  // namespace exchange
