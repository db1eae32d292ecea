#include "core/standby.hpp"

namespace exchange {

// What an active server needs at most to connect again, to the primary of several hosts.
constexpr std::int64_t active_connects_ns = 3'000'000'000;

Standby::Standby(Recovered recovered, Store& store, Clock& clock, const CoreLimits& limits,
                 Metrics& metrics, OnProjected on_changes)
    : recovered_(std::move(recovered)),
      store_(store),
      clock_(clock),
      limits_(limits),
      metrics_(metrics),
      on_changes_(std::move(on_changes)) {}

bool Standby::follow() try { return turn(); } catch (const StoreUnavailable&) {
  store_available_ = false;
  throw;
}

bool Standby::turn() {
  const std::int64_t now_ns = clock_.monotonic_ns();
  read_journal();
  Metrics::set(metrics_.journal_read_ns, std::uint64_t(now_ns));
  if (!store_available_) takes_over_from_ns_ = now_ns + active_connects_ns;
  store_available_ = true;
  if (now_ns >= next_changes_ns_) {
    next_changes_ns_ = now_ns + std::int64_t(limits_.projection_interval_ms) * 1'000'000;
    hand_out_changes();
    store_.keep_journal_from(recovered_.last_batch);
    note_projected(store_.projected_batch());
  }
  if (now_ns < takes_over_from_ns_ || !store_.try_open()) return false;
  read_journal();  // the rest: nobody appends any more
  const BatchNumber projected = store_.projected_batch();
  note_projected(projected);
  for (auto changes = unprojected_.rbegin(); changes != unprojected_.rend(); ++changes)
    recovered_.exchange.restore_changes(changes->rows);
  unprojected_.clear();
  recovered_.batches_replayed = recovered_.last_batch - projected;
  return true;
}

// Begins with the newest row that this server has: if the database failed over to one without it,
// or deleted it, what this server knows is not what the journal says.
void Standby::read_journal() {
  const BatchNumber newest = recovered_.last_batch;
  bool same = newest == 0;
  const auto lost = [&] {
    return StoreCorrupt(
        "the journal has no longer batch " + std::to_string(newest) +
        " as this standby server read it: it was left behind, or the database failed "
        "over without that batch; start it again");
  };
  store_.read_journal(newest == 0 ? 0 : newest - 1, [&](const JournalRow& row) {
    if (!same) {
      if (!is_newest(recovered_, row)) throw lost();
      same = true;
      return;
    }
    replay(recovered_, row);
  });
  if (!same) throw lost();
  Metrics::set(metrics_.batch, recovered_.last_batch);
  Metrics::set(metrics_.executions, recovered_.exchange.totals().executions);
}

void Standby::hand_out_changes() {
  Exchange& exchange = recovered_.exchange;
  if (exchange.changed_rows() == 0) return;
  Changes& changes = unprojected_.emplace_back();
  changes.batch = recovered_.last_batch;
  changes.closed = exchange.take_changes(changes.rows);
  if (on_changes_) on_changes_(changes.rows, changes.batch);
}

void Standby::note_projected(BatchNumber projected) {
  while (!unprojected_.empty() && unprojected_.front().batch <= projected) {
    recovered_.exchange.release_closed(unprojected_.front().closed);
    unprojected_.pop_front();
  }
  Metrics::set(metrics_.projected_batch, projected);
  Metrics::set(metrics_.orders_in_memory, recovered_.exchange.orders_in_memory());
}

}  // namespace exchange
