#include "core/standby.hpp"

namespace exchange {

namespace {

// How long an active server may need to connect again: if it alone lost its connection; and at
// most, to the primary of several hosts.
constexpr std::int64_t reconnect_ns = 150'000'000, failover_ns = 5'000'000'000;

StoreCorrupt left_behind(const std::string& what) {
  return StoreCorrupt(what +
                      ": this standby server was left behind, or the database failed over without "
                      "what this server has read; start it again");
}

}  // namespace

Standby::Standby(Recovered recovered, Store& store, Clock& clock, const CoreLimits& limits,
                 Metrics& metrics, OnProjected on_changes)
    : recovered_(std::move(recovered)),
      store_(store),
      clock_(clock),
      limits_(limits),
      metrics_(metrics),
      on_changes_(std::move(on_changes)),
      projected_(recovered_.last_batch - recovered_.batches_replayed) {}

bool Standby::follow() try { return turn(); } catch (const StoreUnavailable&) {
  store_available_ = false;
  throw;
}

bool Standby::turn() {
  const bool hands_out = clock_.monotonic_ns() >= next_changes_ns_;
  read_journal(hands_out || !store_available_);
  const std::int64_t now_ns = clock_.monotonic_ns();  // after the store was available
  health_->note_journal_read(now_ns);
  Metrics::set(metrics_.journal_read_ns, std::uint64_t(now_ns));
  if (!store_available_) unavailable_until_ns_ = now_ns;
  store_available_ = true;
  if (hands_out) {
    next_changes_ns_ = now_ns + std::int64_t(limits_.projection_interval_ms) * 1'000'000;
    hand_out_changes();
    store_.journal().keep_from(recovered_.last_batch);
    note_projected(store_.tables().projected_batch());
  }
  if (!may_take_over(now_ns) || !store_.try_open()) return false;
  read_journal(true);  // the rest: no other server appends any more
  note_projected(store_.tables().projected_batch());
  for (auto changes = unprojected_.rbegin(); changes != unprojected_.rend(); ++changes)
    recovered_.exchange.restore_changes(changes->rows);
  unprojected_.clear();
  recovered_.batches_replayed = recovered_.last_batch - projected_;
  return true;
}

bool Standby::may_take_over(std::int64_t now_ns) {
  other_ = store_.active_server();
  if (other_ == ActiveServer::there) {
    none_active_since_ns_.reset();
    return false;
  }
  if (!none_active_since_ns_) none_active_since_ns_ = now_ns;
  return other_ == ActiveServer::ended || now_ns >= std::max(*none_active_since_ns_ + reconnect_ns,
                                                             unavailable_until_ns_ + failover_ns);
}

// Checks, if `verify`, that the journal still has the newest row of this server. If the database
// failed over to a host without that row, or deleted it, this server's state differs from the
// journal.
void Standby::read_journal(bool verify) {
  const BatchNumber newest = recovered_.last_batch;
  bool same = !verify || newest == 0;
  const auto lost = [&] {
    return left_behind("the journal no longer has batch " + std::to_string(newest) +
                       " as it was read");
  };
  store_.journal().read(same ? newest : newest - 1, [&](const JournalRow& row) {
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
  if (projected < projected_)
    throw left_behind("the tables have lost batch " + std::to_string(projected_));
  projected_ = projected;
  while (!unprojected_.empty() && unprojected_.front().batch <= projected) {
    recovered_.exchange.release_closed(unprojected_.front().closed);
    unprojected_.pop_front();
  }
  Metrics::set(metrics_.projected_batch, projected);
  Metrics::set(metrics_.orders_in_memory, recovered_.exchange.orders_in_memory());
}

}  // namespace exchange
