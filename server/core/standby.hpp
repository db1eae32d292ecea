#pragma once
// Standby follows the journal of the active server and applies each batch, so that it can take over
// at once: it replays continuously and checks each record. It passes changes to `on_changes`, for
// market data. Owner and thread: main, before it has a core.

#include <deque>
#include <memory>
#include <optional>

#include "core/clock.hpp"
#include "core/health.hpp"
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

  // Performs one turn: reads what was committed since the last one, and takes over if no other
  // server is active. If a server did not announce its end, it may only have lost its connection
  // and may connect again: the standby allows 150 ms for that, and 5 s if the store was unavailable
  // for the standby too. Call it a few dozen times a second. Returns true once the store is open
  // and everything is read; then take() returns the state. Throws StoreUnavailable: try again;
  // StoreCorrupt: this standby cannot follow any more and must start again.
  bool follow();
  // After follow() has returned true: returns true if the active server ended in good order, or
  // none existed.
  bool was_handed_over() const { return other_ == ActiveServer::ended; }
  Recovered take() { return std::move(recovered_); }
  // Returns the logins that were read since the last call.
  std::vector<LoginChange> take_logins() { return std::exchange(recovered_.logins, {}); }
  BatchNumber last_batch() const { return recovered_.last_batch; }
  // Records when the standby last read the journal. It outlives the standby.
  std::shared_ptr<const Health> health() const { return health_; }

 private:
  bool turn();
  bool may_take_over(std::int64_t now_ns);
  // If `verify`, checks that the journal still has this server's newest row.
  void read_journal(bool verify);
  void hand_out_changes();
  // Drops the changes that the tables have. Throws StoreCorrupt if the tables had more before.
  void note_projected(BatchNumber projected);

  struct Changes {  // handed out, but not in the tables yet
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
  const std::shared_ptr<Health> health_ = std::make_shared<Health>();
  std::deque<Changes> unprojected_;  // oldest first
  BatchNumber projected_;
  std::int64_t next_changes_ns_ = 0;
  ActiveServer other_ = ActiveServer::there;
  bool store_available_ = true;
  std::int64_t unavailable_until_ns_ = INT64_MIN;  // when the store was last unavailable
  std::optional<std::int64_t> none_active_since_ns_;
};

}  // namespace exchange
