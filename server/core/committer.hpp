#pragma once
// Committer turns a batch of submissions into durable outcomes: it applies every command to the
// exchange, appends one journal row with the commands that changed state, and returns when the row
// is committed.
// Invariants:
// 1. No reply may leave before commit() has returned; queries and refusals reveal state too.
// 2. A batch has one time, later than or equal to that of the batch before.
// 3. Batch numbers have no gap; a batch that changed nothing has none, and confirms the epoch.
// 4. A failed append is resolved before anything else is appended: the same bytes, the same number.
// Owner: Core. Owns the exchange. Thread: core thread.

#include <span>

#include "core/clock.hpp"
#include "core/command_counts.hpp"
#include "core/health.hpp"
#include "core/limits.hpp"
#include "core/service.hpp"
#include "engine/exchange.hpp"
#include "journal/journal.hpp"
#include "journal/journal_record.hpp"
#include "metrics/metrics.hpp"

namespace exchange {

class Committer {
 public:
  Committer(Exchange exchange, BatchNumber last_batch, Journal& journal, Clock& clock,
            const CoreLimits& limits, Metrics& metrics)
      : exchange_(std::move(exchange)),
        last_batch_(last_batch),
        journal_(journal),
        clock_(clock),
        limits_(limits),
        metrics_(metrics) {}

  // Fills in the outcomes of the first submissions and returns their number: all of them, unless
  // their outcomes hold more than executions_held_max executions. While the store is unavailable,
  // it retries and does not return. Throws StoreFenced; then no outcome of this batch may be sent.
  std::size_t commit(std::span<Submission* const> submissions);
  // An idle server calls it periodically. It checks that this server is still the active one and
  // that its store is available. Returns and throws as commit().
  void confirm();
  // The number of executions in outcomes that are not in a reply yet.
  const std::shared_ptr<ExecutionsHeld::Counter>& executions_held() const {
    return executions_held_;
  }
  const std::shared_ptr<Health>& health() const { return health_; }

  Exchange& exchange() { return exchange_; }
  BatchNumber last_batch() const { return last_batch_; }

 private:
  Timestamp next_time();
  std::size_t apply(std::span<Submission* const> submissions, Timestamp now);
  // Appends the payload as the next batch and returns when it is known to be committed. An empty
  // payload (a batch that changed nothing) only confirms that no other server has taken the store
  // over, so that a fenced server cannot answer queries from an old state.
  void commit_until_certain(std::string_view payload);
  void stamp(std::span<Submission* const> submissions, std::int64_t begin_ns,
             std::int64_t applied_ns) const;

  Exchange exchange_;
  BatchNumber last_batch_;
  Journal& journal_;
  Clock& clock_;
  const CoreLimits& limits_;
  Metrics& metrics_;
  const std::shared_ptr<ExecutionsHeld::Counter> executions_held_ =
      std::make_shared<ExecutionsHeld::Counter>(0);
  const std::shared_ptr<Health> health_ = std::make_shared<Health>();
  JournalWriter writer_;
  std::vector<const Command*> commands_;
  bool clock_is_behind_ = false;  // and the log says so
};

}  // namespace exchange
