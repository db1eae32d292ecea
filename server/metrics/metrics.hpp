#pragma once
// Counters, gauges and stage times of the running server. Any thread; each is exact, reads are not a snapshot of all.

#include <atomic>
#include <cstdint>

#include "metrics/stages.hpp"

namespace exchange {

struct Metrics {
  using Counter = std::atomic<std::uint64_t>;
  // core
  Counter commands{0}, commands_refused{0}, batches{0}, batches_committed{0}, journal_bytes{0}, commit_us{0};
  Counter store_failures{0}, orders_read{0}, lag_waits{0};
  Counter batch{0}, projected_batch{0}, orders_in_memory{0};  // gauges
  std::atomic<bool> store_available{true};
  // transport
  Counter connections{0};  // gauge
  Counter connections_accepted{0}, connections_refused{0}, accept_failures{0}, requests{0}, bad_frames{0};

  StageHistograms stage_times;

  static void add(Counter& counter, std::uint64_t n = 1) { counter.fetch_add(n, std::memory_order_relaxed); }
  static void set(Counter& gauge, std::uint64_t value) { gauge.store(value, std::memory_order_relaxed); }
};

}  // namespace exchange
