#pragma once
// Counters, gauges and stage times of the running server. Any thread; each is exact, reads are not
// a snapshot of all.

#include <array>
#include <atomic>
#include <cstdint>

#include "metrics/stages.hpp"

namespace exchange {

struct Metrics {
  using Counter = std::atomic<std::uint64_t>;
  // core
  static constexpr std::size_t command_kinds = 6, command_results = 11;
  // By index in Command, and 0 for what was done or told, 1 + Reason for a refusal.
  std::array<std::array<Counter, command_results>, command_kinds> commands{};
  Counter batches{0}, batches_committed{0}, journal_bytes{0}, commit_us{0};
  Counter executions{0};  // since the exchange was created
  Counter store_failures{0}, orders_read{0}, lag_waits{0};
  Counter batch{0}, projected_batch{0}, orders_in_memory{0};  // gauges
  // gauges: submissions not taken by the core yet; taken, but of a later batch
  Counter queue_depth{0}, taken_depth{0};
  mutable Guarded<Histogram> batch_commands;
  // transport
  Counter connections{0};  // gauge
  Counter connections_accepted{0}, connections_refused{0}, accept_failures{0}, requests{0},
      bad_frames{0};
  // its address has too many; the others are refused because all have
  Counter connections_refused_peer{0};
  // connections, by us
  Counter ended_idle{0}, ended_stalled{0}, evicted{0}, ended_for_memory{0};
  Counter requests_refused{0};  // requests refused unexecuted, for want of memory
  Counter client_errors{0};     // documents and elements refused before the engine
  // keys
  Counter logins_accepted{0}, logins_refused{0};
  Counter key_hashes{0}, key_hash_us{0};
  Counter key_queue_depth{0};  // gauge: request batches whose keys wait to be hashed
  Counter tls_failures{0};     // handshakes
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
