#pragma once
// Projector writes changed rows into the tables, on its own thread, one hand-over at a time, in
// bursts. Meanwhile further changes collect in the exchange, where a row that changes several times
// is written once.
// Invariants:
// 1. It gets only rows of committed batches, so the tables are never ahead of the journal.
// 2. It writes hand-overs in order, each in one transaction, which it repeats until it succeeds.
// 3. It prunes journal rows only up to what the tables have secured.
// Owner: Core.

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

// Called on the projector's thread with the rows that were just written. It must not wait for the
// core.
using OnProjected = std::function<void(const Rows& rows, BatchNumber batch)>;

class Projector {
 public:
  // The projector calls `on_idle` when a hand-over has ended, and `on_fatal` if the store fails
  // with an error that is not retryable.
  Projector(Tables& tables, Journal& journal, Clock& clock, const CoreLimits& limits,
            Metrics& metrics, Health& health, OnProjected on_projected,
            std::function<void()> on_idle, OnFatal on_fatal);
  // Finishes the current hand-over, then stops; waits while the store is unavailable.
  ~Projector();

  // Core thread. Returns true if offer() may be called.
  bool idle();
  // Core thread; requires idle(). Takes the rows and returns an empty set whose memory is reused.
  void offer(Rows& rows, BatchNumber batch, ClosedMark closed);
  // Core thread. Returns the mark up to which closed orders are in the tables.
  ClosedMark projected_closed();
  // Core thread. Estimates which part of the current hand-over is written, from 0 to 1. It counts
  // CPU time, which does not depend on what else the machine does; if another process writes the
  // tables, time without rests.
  double progress();
  // Skips the remaining rests of the current projection and the pause after it. Any thread.
  void hurry();
  // Call it if a reader waits for rows that were not offered yet. Shortens the pause. Any thread.
  void await_rows();

 private:
  struct Slot {
    bool offered = false, busy = false, hurry = false, awaited = false, stopping = false;
    bool written = false;  // busy: the rows are, and the pause after them goes on
    Rows rows;
    BatchNumber batch = 0;
    ClosedMark closed = 0, projected_closed = 0;
    std::size_t size = 0;  // number of rows
    // time of a row in the last large hand-over, counted as for progress()
    std::chrono::nanoseconds per_row = std::chrono::microseconds(1);
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
  Thread thread_;
};

}  // namespace exchange
