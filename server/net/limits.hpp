#pragma once
// Settings and limits of the XML port. The command line fills them (options.hpp).

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/described.hpp"
#include "base/option.hpp"

namespace exchange {

// The threads that run sessions.
BOOST_DEFINE_FIXED_ENUM_CLASS(Policy, std::uint8_t, thread, pool, loop)
constexpr const char* describe(Policy policy) {
  switch (policy) {
    case Policy::thread: return "one per client";
    case Policy::pool: return "fixed number over one queue";
    case Policy::loop: return "event loops";
  }
  return "";
}
// "thread (one per client), pool (fixed number over one queue), ..."
inline std::string policies_text() {
  std::string text;
  for (std::size_t i = 0; i < enumerators<Policy>; ++i)
    text.append(i == 0 ? "" : ", ").append(to_string(Policy(i))) +=
        std::string(" (") + describe(Policy(i)) + ")";
  return text;
}

struct TlsFiles {
  std::string certificate, key;  // PEM; both or neither
  // The server computes a key exchange for each handshake. A proxy that passes TLS through, and
  // checks two ports ten times a second, is also one address.
  std::size_t handshakes_per_address = 50;
  bool enabled() const { return !certificate.empty(); }
};
template <class Add>
void add_options(TlsFiles& files, Add add) {
  add("--tls-cert", files.certificate, "certificate chain in PEM: both ports speak TLS");
  add("--tls-key", files.key, "private key of the certificate in PEM");
  add("--handshakes-per-address", files.handshakes_per_address,
      "TLS connections per second that one address (IPv6: one /64) may begin at each port, four "
      "times as many at once; 0: no limit",
      Range{0, 1'000'000});
}

struct NetLimits {
  // open connections; for one more, an idle one is evicted, or the new one is refused
  std::size_t connections_max = 16'384;
  std::size_t connections_per_address = 0;
  // bytes of partial requests, large request batches and replies not taken yet, of all clients. The
  // server lowers it to the available memory (resource_plan.hpp)
  std::size_t buffered_bytes_max = 1u << 30;
  std::uint64_t idle_ms = 600'000;
  // a connection that has been idle this long may be evicted even if no address has more
  // connections than the address of the new one
  std::uint32_t evictable_idle_ms = 1'000;
  // connections that are ended and not closed yet; beyond it, new connections are refused
  std::size_t closing_max = 64;
  // between two searches for late connections; the resolution of idle times
  std::uint32_t sweep_ms = 250;
  std::uint32_t drain_ms = 1'500;   // at stop: time for clients to take their replies
  std::uint32_t stall_ms = 60'000;  // time to finish a TLS handshake or a request, to take a reply
  // the same for a request that is a complete document, but whose announced length is larger
  std::uint32_t complete_document_ms = 2'000;
  // after the server ends a connection: time to discard what the client still sends
  std::uint32_t linger_ms = 1'000;
  std::uint32_t accept_retry_ms = 10;  // pause in accepting when descriptors run out
  int listen_backlog = 4'096;          // capped by net.core.somaxconn
};
template <class Add>
void add_options(NetLimits& limits, Add add) {
  add("--connections-max", limits.connections_max,
      "maximum open connections, also bounded by the descriptor limit; 0: as memory allows, up to "
      "16384",
      Range{0, 1'000'000});
  add("--connections-per-address", limits.connections_per_address,
      "maximum open connections of one address (IPv6: one /64), shared by all clients behind a NAT "
      "or in a Docker network; 0: three quarters of all",
      Range{0, 1'000'000});
  add("--idle-timeout-s", limits.idle_ms,
      "seconds after which a connection without a complete request is closed; 0: never",
      Range{0, 31'536'000, 1'000});
  add("--stall-timeout-s", limits.stall_ms,
      "seconds within which a client must finish a request, or take a reply",
      Range{1, 86'400, 1'000});
  add("--buffered-bytes-max", limits.buffered_bytes_max,
      "maximum bytes of unfinished requests and untaken replies of all clients; beyond it, the "
      "connections with most are closed. 0: an eighth of the memory, up to 1 GiB",
      Range{0, std::uint64_t(1) << 40});
}

// The UNIX-domain socket of "unix:PATH" or "unix:PATH?mode=660".
struct LocalSocket {
  std::string path;      // empty: no such socket
  unsigned mode = 0600;  // which users may connect
};

struct NetOptions {
  std::uint16_t port = 12345;
  LocalSocket local;
  std::string bind = "127.0.0.1";
  Policy policy = Policy::loop;
  unsigned threads = 0;
  NetLimits limits;
};
// "2", or "per-client".
inline std::string threads_name(const NetOptions& options) {
  return options.policy == Policy::thread ? "per-client" : std::to_string(options.threads);
}
template <class Add>
void add_options(NetOptions& options, Add add) {
  add("--port", options.port, "TCP port for clients; 0 picks a free one", Range{0, 65'535});
  add("--bind", options.bind,
      "IP address to listen on; 0.0.0.0 for all, but read docs/security.md first", IpAddress{});
  add("--listen", options.local,
      "UNIX-domain socket for clients of this machine beside the port, unix:PATH, without TLS; "
      "unix:PATH?mode=660 admits the group of the file too");
  add("--policy", options.policy, ("where sessions run: " + policies_text()).c_str());
  add("--threads", options.threads,
      "threads of pool and loop; 0: one per CPU that the process may use (affinity, CPU quota of "
      "the control group)",
      Range{0, 4'096});
}

}  // namespace exchange
