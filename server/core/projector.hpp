#pragma once
// Projector writes changed rows to the tables, on a thread of its own, one hand-over at a time.
// The core offers rows only of committed batches; while a hand-over is under way, changes gather in
// the exchange, where a row that changes again costs nothing more.

#include <functional>

#include "base/guarded.hpp"
#include "base/thread.hpp"
#include "core/clock.hpp"
#include "core/limits.hpp"
#include "engine/exchange.hpp"
#include "metrics/metrics.hpp"
#include "store/store.hpp"

namespace exchange {

// Called on the projector's thread with the rows that are in the tables now. Must not wait for the
// core.
using OnProjected = std::function<void(const Rows& rows, BatchNumber batch)>;

class Projector {
 public:
  // `on_idle` is called when a hand-over is done; `on_fatal` when the store is lost for good.
  Projector(Store& store, Clock& clock, const CoreLimits& limits, Metrics& metrics,
            OnProjected on_projected, std::function<void()> on_idle, OnFatal on_fatal);
  // Finishes the hand-over under way, then stops. While the store is away that takes until it is
  // back.
  ~Projector();

  // Core thread. Whether offer() would be taken.
  bool idle();
  // Core thread; needs idle(). Takes the rows; gives back empty ones with room.
  void offer(Rows& rows, BatchNumber batch, ClosedMark closed);
  // Core thread. Orders closed by this mark are in the tables.
  ClosedMark projected_closed();
  // Ends the pause after the projection under way at once.
  void hurry();

 private:
  struct Slot {
    bool offered = false, busy = false, hurry = false, stopping = false;
    Rows rows;
    BatchNumber batch = 0;
    ClosedMark closed = 0, projected_closed = 0;
  };

  void run();
  void project(const Rows& rows, BatchNumber batch);
  void prune(BatchNumber batch);

  Store& store_;
  Clock& clock_;
  const CoreLimits& limits_;
  Metrics& metrics_;
  const OnProjected on_projected_;
  const std::function<void()> on_idle_;
  const OnFatal on_fatal_;
  Guarded<Slot> slot_;
  BatchNumber pruned_ = 0;
  Thread thread_;
};

}  // namespace exchange
