#pragma once
// OrderReader answers queries and cancels of orders that the engine no longer holds, from the
// tables, on a thread of its own. Such orders are closed, so what it reads cannot change any more.
// Operators may look up any order through it, as the tables have it at that moment.

#include <deque>
#include <functional>
#include <optional>
#include <span>

#include "base/guarded.hpp"
#include "base/thread.hpp"
#include "core/clock.hpp"
#include "core/command_counts.hpp"
#include "core/limits.hpp"
#include "core/service.hpp"
#include "metrics/metrics.hpp"
#include "store/store.hpp"

namespace exchange {

class OrderReader {
 public:
  // `executions_held` counts what its outcomes hold. `on_fatal` is called when the store is lost
  // for good.
  OrderReader(Store& store, Clock& clock, const CoreLimits& limits, Metrics& metrics,
              std::shared_ptr<ExecutionsHeld::Counter> executions_held, OnFatal on_fatal);
  // Answers what is queued, then stops; what cannot be read because the store is away stays
  // unanswered.
  ~OrderReader();

  // Core thread. A committed submission with at least one NotInMemory outcome; completes it.
  void resolve(Submission& submission);

  // Any thread. Calls `found` from the reader's thread once the tables have been read; while the
  // store is away that takes until it is back. False, and no call, where `waiting_max` wait. A
  // stopping reader drops what it has not read. Ids beyond those that tables can hold are nobody's.
  using OnFound = std::function<void(std::optional<StoredOrder>)>;
  bool look_up(OrderId order, OnFound found, std::size_t waiting_max);

 private:
  struct Lookup {
    OrderId order;
    OnFound found;
  };
  using Job = std::variant<Submission*, Lookup>;
  struct Queue {
    // in turn; each connection has one submission at most, lookups are counted
    std::deque<Job> waiting;
    std::size_t lookups = 0;
    bool stopping = false;
  };

  void run();
  bool run(Submission& submission);
  bool run(const Lookup& lookup);
  enum class Progress { done, more, stopped };
  Progress resolve_some(Submission& submission);
  std::optional<StoredOrder> read_until_there(OrderId order);

  Store& store_;
  Clock& clock_;
  const CoreLimits& limits_;
  Metrics& metrics_;
  const std::shared_ptr<ExecutionsHeld::Counter> executions_held_;
  const OnFatal on_fatal_;
  Guarded<Queue> queue_;
  Thread thread_;
};

// The outcome of a query or cancel of `account` for what the tables hold of the order.
Outcome outcome_from_tables(const Command& command, AccountNumber account,
                            const std::optional<StoredOrder>& stored);

}  // namespace exchange
