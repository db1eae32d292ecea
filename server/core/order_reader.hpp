#pragma once
// OrderReader answers queries and cancels of orders that the engine no longer holds, from the tables,
// on a thread of its own. Such orders are closed, so what it reads cannot change any more.

#include <deque>
#include <span>
#include <thread>

#include "core/clock.hpp"
#include "core/service.hpp"
#include "core/thread.hpp"
#include "metrics/guarded.hpp"
#include "metrics/metrics.hpp"
#include "options.hpp"
#include "store/store.hpp"

namespace exchange {

class OrderReader {
 public:
  // `on_fatal` is called when the store is lost for good.
  OrderReader(Store& store, Clock& clock, const CoreLimits& limits, Metrics& metrics, OnFatal on_fatal);
  // Answers what is queued, then stops; what cannot be read because the store is away stays unanswered.
  ~OrderReader();

  // Core thread. A committed submission with at least one NotInMemory outcome; completes it.
  void resolve(Submission& submission);

 private:
  struct Queue {
    std::deque<Submission*> waiting;
    bool stopping = false;
  };

  void run();
  enum class Progress { done, more, stopped };
  Progress resolve_some(Submission& submission);
  std::optional<StoredOrder> read_until_there(OrderId order);

  Store& store_;
  Clock& clock_;
  const CoreLimits& limits_;
  Metrics& metrics_;
  const OnFatal on_fatal_;
  Guarded<Queue> queue_;  // bounded by the number of connections: each has one submission at most
  std::thread thread_;
};

// The outcome of a query or cancel of `account` for what the tables hold of the order.
Outcome outcome_from_tables(const Command& command, AccountNumber account, const std::optional<StoredOrder>& stored);

}  // namespace exchange
