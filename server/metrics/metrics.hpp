#pragma once
// Metrics: counters, gauges and stage times of the running server. Owner: main. Written by core,
// transport and HTTP, read by the metrics endpoint. Any thread, without locks: each value is exact,
// but values read one after the other belong to different moments. Counters only grow and count
// since the start of the process, if nothing else is said; gauges are set to a present value. Names
// end in their unit: _us, _ns, _bytes. Metrics only observe: decisions must not depend on them.

#include <array>
#include <atomic>
#include <cstdint>

#include "metrics/stages.hpp"

namespace exchange {

enum class OrderKind : std::uint8_t { limit, ioc, fok, post, market };
inline constexpr std::size_t order_kinds = 5;

struct Metrics {
  using Counter = std::atomic<std::uint64_t>;
  // core
  static constexpr std::size_t command_kinds = 8, command_results = 28;
  // by index in Command; then 0: executed, 1 + Reason: rejected
  std::array<std::array<Counter, command_results>, command_kinds> commands{};
  // orders opened, by OrderKind
  std::array<Counter, order_kinds> orders{};
  // Orders canceled by requests, at the end of their connection, by the terms of ioc and market
  // orders, and of self-trade prevention.
  Counter canceled_by_client{0}, canceled_at_disconnect{0};
  Counter canceled_immediate{0}, canceled_self_trade{0};
  Counter batches{0}, batches_committed{0}, journal_bytes{0}, commit_us{0};
  Counter executions{0};  // since the exchange was created
  Counter store_failures{0}, commits_in_doubt{0}, orders_read{0}, lag_waits{0};
  Counter batch{0}, projected_batch{0}, orders_in_memory{0};  // gauges
  Counter accounts{0}, symbols{0}, open_orders{0};            // gauges
  Counter clock_behind_s{0};  // gauge: the system clock, behind the newest time in the journal
  // gauge: when a standby had last read the whole journal, on the monotonic clock
  Counter journal_read_ns{0};
  // gauges: submissions that the core has not taken yet; taken, but waiting for a later batch
  Counter queue_depth{0}, taken_depth{0};
  mutable Guarded<Histogram> batch_commands;
  // transport
  Counter connections{0};  // gauge
  Counter connections_accepted{0}, connections_refused{0}, accept_failures{0}, requests{0},
      bad_frames{0};
  // because its address has too many; connections_refused: because of the limit for all
  Counter connections_refused_peer{0};
  // connections that the server closed, by reason
  Counter ended_idle{0}, ended_stalled{0}, evicted{0}, ended_for_memory{0};
  Counter requests_refused{0};  // not executed, because of the memory limit
  Counter client_errors{0};     // documents and elements rejected before the engine
  // keys
  Counter logins_accepted{0}, logins_refused{0};  // of accounts
  Counter operator_logins_accepted{0}, operator_logins_refused{0};
  Counter key_hashes{0}, key_hash_us{0};
  Counter key_queue_depth{0};  // gauge: request batches waiting for key hashes
  Counter tls_failures{0};     // handshakes
  Counter tls_refused{0};      // connections, before their handshake
  // dashboard
  Counter http_requests{0}, http_refused_peer{0}, http_refused_memory{0}, websockets_dropped{0};
  Counter websockets{0};  // gauge

  StageHistograms stage_times;

  static void add(Counter& counter, std::uint64_t n = 1) {
    counter.fetch_add(n, std::memory_order_relaxed);
  }
  static void set(Counter& gauge, std::uint64_t value) {
    gauge.store(value, std::memory_order_relaxed);
  }
};

}  // namespace exchange
