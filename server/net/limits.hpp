#pragma once
// The thread policies, TLS files and limits of connections. Set from the command line
// (options.hpp).

#include <cstddef>
#include <cstdint>
#include <string>

namespace exchange {

enum class Policy { thread, pool, loop };

const char* policy_name(Policy policy);

struct TlsFiles {
  std::string certificate, key;  // PEM; both or neither
  bool enabled() const { return !certificate.empty(); }
};

struct TransportLimits {
  // open connections; for one more the one idle longest is ended, or it is told so and closed
  std::size_t connections_max = 16'384;
  // of one address (IPv6: of one /64); 0: three quarters of connections_max
  std::size_t connections_per_address = 0;
  // unfinished requests, large request batches and untaken replies, of all; 0: a quarter of the
  // memory, 1 GiB at most
  std::size_t buffered_bytes_max = 0;
  // without a complete request, then the connection is ended; 0: never
  std::uint64_t idle_ms = 600'000;
  // idle so long a connection may be ended for a newcomer although no peer has more than his
  std::uint32_t room_idle_ms = 1'000;
  // ended to make room and not closed yet; more newcomers are refused meanwhile
  std::size_t ending_max = 64;
  // between two looks at deadlines; idle times are exact to this, but where thousands end at once
  std::uint32_t sweep_ms = 250;
  std::uint32_t drain_ms = 1'500;   // at stop: time for clients to take their replies
  std::uint32_t stall_ms = 60'000;  // time to finish sending a request, or to take a reply
  // after a refusal: time to discard what the client still sends
  std::uint32_t linger_ms = 1'000;
  std::uint32_t accept_retry_ms = 10;  // pause in accepting when descriptors run out
  int listen_backlog = 4'096;          // capped by net.core.somaxconn
};

}  // namespace exchange
