#pragma once
// Committer turns a batch of submissions into outcomes that are durable: it applies every command
// to the exchange, appends one journal row with those that changed state, and returns when it is
// committed. Nothing may be told to a client before commit() has returned. Thread: the core thread.
// Owns the exchange.

#include <span>

#include "core/clock.hpp"
#include "core/command_counts.hpp"
#include "core/health.hpp"
#include "core/limits.hpp"
#include "core/service.hpp"
#include "engine/exchange.hpp"
#include "metrics/metrics.hpp"
#include "store/journal_record.hpp"
#include "store/store.hpp"

namespace exchange {

class Committer {
 public:
  Committer(Exchange exchange, BatchNumber last_batch, Store& store, Clock& clock,
            const CoreLimits& limits, Metrics& metrics)
      : exchange_(std::move(exchange)),
        last_batch_(last_batch),
        store_(store),
        clock_(clock),
        limits_(limits),
        metrics_(metrics) {}

  // Fills in the outcomes of the first ones and says of how many: of all, unless they tell more
  // than executions_held_max executions. While the store is away it holds here and tries again.
  // Throws StoreFenced, after which nothing of this batch may be told.
  std::size_t commit(std::span<Submission* const> submissions);
  // Executions that outcomes hold.
  const std::shared_ptr<ExecutionsHeld::Counter>& executions_held() const {
    return executions_held_;
  }
  const std::shared_ptr<Health>& health() const { return health_; }

  Exchange& exchange() { return exchange_; }
  BatchNumber last_batch() const { return last_batch_; }

 private:
  std::size_t apply(std::span<Submission* const> submissions, Timestamp now);
  // With nothing to append, asks whether what is told is still the newest state: another server may
  // have taken the store over.
  void commit_until_certain(std::string_view payload);
  void stamp(std::span<Submission* const> submissions, std::int64_t begin_ns,
             std::int64_t applied_ns) const;

  Exchange exchange_;
  BatchNumber last_batch_;
  Store& store_;
  Clock& clock_;
  const CoreLimits& limits_;
  Metrics& metrics_;
  const std::shared_ptr<ExecutionsHeld::Counter> executions_held_ =
      std::make_shared<ExecutionsHeld::Counter>(0);
  const std::shared_ptr<Health> health_ = std::make_shared<Health>();
  JournalWriter writer_;
  std::vector<const Command*> commands_;
  std::vector<Exchange::Located> located_;
};

}  // namespace exchange
