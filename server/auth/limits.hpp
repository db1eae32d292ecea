#pragma once
// Limits of keys and their hashing. Set from the command line (options.hpp).

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/option.hpp"

namespace exchange {

struct AuthLimits {
  bool required = false;
  std::string operator_key_file;
  // that hash keys, at low priority: each needs the memory of scrypt_log2_n
  unsigned threads = 1;
  // of these threads: a third of the share that others get of a busy CPU
  int nice = 5;
  // accounts that one connection stays logged in to; the oldest goes first
  std::size_t session_logins_max = 16;
  // request batches of one address whose keys wait to be hashed; more are refused
  std::size_t checks_per_address_max = 1'024;
  // with r = 8 16 MiB and some 50 ms a hash; stored with each, so it may be raised
  std::uint8_t scrypt_log2_n = 14;
};
template <class Add>
void add_options(AuthLimits& limits, Add add) {
  add("--auth", limits.required,
      "accounts have keys: set at creation, required to trade (docs/security.md)");
  add("--operator-key-file", limits.operator_key_file,
      "required by --auth: file of the key of the operator, who creates and changes accounts and "
      "symbols (docs/operator.md)");
}

}  // namespace exchange
