#pragma once
// Limits of keys and their hashing. Set from the command line (options.hpp).

#include <cstddef>
#include <cstdint>

namespace exchange {

struct AuthLimits {
  bool required = false;  // --auth
  // that hash keys, at low priority: each takes a CPU when it can and scrypt_log2_n's memory
  unsigned threads = 1;
  // of these threads: a third of the share that others get of a busy CPU
  int nice = 5;
  // accounts that one connection stays logged in to; the oldest goes first
  std::size_t session_logins_max = 16;
  // request batches and questions of one address that wait for a hash; more are refused
  std::size_t waiting_per_peer_max = 1'024;
  // with r = 8 16 MiB and some 50 ms a hash; stored with each, so it may be raised
  std::uint8_t scrypt_log2_n = 14;
};

}  // namespace exchange
