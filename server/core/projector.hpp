#pragma once
// Projector writes changed rows into the tables, on its own thread, one hand-over at a time, in
// bursts. Meanwhile further changes collect in the exchange, where a row that changes several times
// is written once.
// Invariants:
// 1. It gets rows of committed batches only, so that the tables are never ahead of the journal.
// 2. Hand-overs are written in order, each in one transaction, and again until it succeeds.
// 3. Journal rows are pruned only up to what the tables have secured.
// Owner: Core.

#include <atomic>
#include <chrono>
#include <functional>

#include "base/bursts.hpp"
#include "base/guarded.hpp"
#include "base/thread.hpp"
#include "core/clock.hpp"
#include "core/health.hpp"
#include "core/limits.hpp"
#include "engine/exchange.hpp"
#include "journal/journal.hpp"
#include "metrics/metrics.hpp"
#include "store/tables.hpp"

namespace exchange {

// Called on the projector's thread with the rows that were just written. Must not wait for the
// core.
using OnProjected = std::function<void(const Rows& rows, BatchNumber batch)>;

class Projector {
 public:
  // `on_idle` is called when a hand-over has ended; `on_fatal` if the store fails in a way that is
  // not retryable.
  Projector(Tables& tables, Journal& journal, Clock& clock, const CoreLimits& limits,
            Metrics& metrics, Health& health, OnProjected on_projected,
            std::function<void()> on_idle, OnFatal on_fatal);
  // Finishes the current hand-over, then stops; waits while the store is unavailable.
  ~Projector();

  // Core thread. Whether offer() may be called.
  bool idle();
  // Core thread; requires idle(). Takes the rows and returns an empty set whose memory is reused.
  void offer(Rows& rows, BatchNumber batch, ClosedMark closed);
  // Core thread. Orders that closed up to this mark are in the tables.
  ClosedMark projected_closed();
  // Core thread. How long the current hand-over will take from now on, as it seems; 0 if idle().
  std::chrono::nanoseconds time_left();
  // Skips what is left of the current projection's rests and of the pause after it. Any thread.
  void hurry();
  // Whether clients wait for events of accounts: rows with any are projected soon, and without
  // rests. Any thread.
  void expect_events(bool expected) { events_expected_ = expected; }
  // Core thread. There are some that were not offered yet.
  void note_events();
  // A reader waits for rows that were not offered yet: shortens the pause as events do. Any thread.
  void await_rows();

 private:
  struct Slot {
    bool offered = false, busy = false, hurry = false, awaited = false, stopping = false;
    Rows rows;
    BatchNumber batch = 0;
    ClosedMark closed = 0, projected_closed = 0;
    std::size_t size = 0;  // of the rows
    std::chrono::nanoseconds began{0};
    std::chrono::nanoseconds per_row = std::chrono::microseconds(1);  // when hurried last
  };

  void run();
  std::chrono::nanoseconds now() const { return std::chrono::nanoseconds(clock_.monotonic_ns()); }
  // Writes the rows, prunes, and waits until the next projection may begin.
  void take_turn(const Rows& rows, BatchNumber batch);
  void project(const Rows& rows, BatchNumber batch);
  void prune(BatchNumber batch);

  Tables& tables_;
  Journal& journal_;
  Clock& clock_;
  const CoreLimits& limits_;
  Metrics& metrics_;
  Health& health_;
  const OnProjected on_projected_;
  const std::function<void()> on_idle_;
  const OnFatal on_fatal_;
  Guarded<Slot> slot_;
  Bursts bursts_;
  BatchNumber pruned_ = 0;
  std::atomic<bool> events_expected_ = false;
  Thread thread_;
};

}  // namespace exchange
