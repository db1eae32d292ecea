#pragma once
// Standby follows the journal of the active server and applies each batch, so that it can take over
// at once: a replay that checks each record, all the time. What changes goes to `on_changes`, for
// market data. Owner and thread: main, before it has a core.

#include <deque>

#include "core/clock.hpp"
#include "core/limits.hpp"
#include "core/projector.hpp"
#include "core/recovery.hpp"
#include "metrics/metrics.hpp"
#include "store/store.hpp"

namespace exchange {

class Standby {
 public:
  // `recovered` came from `store`, which is attached. All references must outlive it.
  Standby(Recovered recovered, Store& store, Clock& clock, const CoreLimits& limits,
          Metrics& metrics, OnProjected on_changes);

  // One turn: reads what was committed since the last one, and takes over if no other server is
  // alive; but not in the first 3 seconds after the store was unavailable, since an active server
  // may have lost its connection too, and connects again. Call it a few dozen times a second.
  // Returns true once the store is open and everything is read; then take() has the state. Throws
  // StoreUnavailable: try again; StoreCorrupt: this standby cannot follow any more and must start
  // again.
  bool follow();
  Recovered take() { return std::move(recovered_); }
  BatchNumber last_batch() const { return recovered_.last_batch; }

 private:
  bool turn();
  void read_journal();
  void hand_out_changes();
  // Forgets the changes that the tables have.
  void note_projected(BatchNumber projected);

  struct Changes {  // handed out, not in the tables yet
    BatchNumber batch;
    Rows rows;
    ClosedMark closed;
  };

  Recovered recovered_;
  Store& store_;
  Clock& clock_;
  const CoreLimits& limits_;
  Metrics& metrics_;
  const OnProjected on_changes_;
  std::deque<Changes> unprojected_;  // oldest first
  std::int64_t next_changes_ns_ = 0;
  bool store_available_ = true;
  std::int64_t takes_over_from_ns_ = 0;
};

}  // namespace exchange
