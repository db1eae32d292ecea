#pragma once
// OrderReader answers queries and cancels of orders that the engine has released from memory. It
// reads them from the tables, on its own thread. Such orders are closed and cannot change, so it
// needs no lock and no ordering with the core. CoreClient uses it to read single orders, events of
// accounts, and their fills.

#include <deque>
#include <functional>
#include <optional>
#include <span>

#include "base/bursts.hpp"
#include "base/guarded.hpp"
#include "base/thread.hpp"
#include "core/clock.hpp"
#include "core/command_counts.hpp"
#include "core/health.hpp"
#include "core/limits.hpp"
#include "core/service.hpp"
#include "metrics/metrics.hpp"
#include "store/tables.hpp"

namespace exchange {

class OrderReader {
 public:
  // `executions_held` counts the executions in outcomes (service.hpp). The reader calls `on_fatal`
  // if the store fails with an error that is not retryable.
  OrderReader(Tables& tables, Clock& clock, const CoreLimits& limits, Metrics& metrics,
              Health& health, std::shared_ptr<ExecutionsHeld::Counter> executions_held,
              OnFatal on_fatal);
  // Answers what is queued, then stops. If the store is unavailable, the rest stays unanswered.
  ~OrderReader();

  // Core thread. Replaces the NotInMemory outcomes of a committed submission, then completes it.
  void resolve(Submission& submission);

  // Any thread. Calls `found` on the reader's thread with the order as the tables have it and the
  // executions of `range`, or with nothing if the order does not exist. While the store is
  // unavailable, that waits. Returns false, and never calls `found`, if `waiting_max` lookups are
  // queued. A reader that stops drops queued lookups.
  using OnFound = std::function<void(std::optional<StoredOrder>)>;
  bool look_up(OrderId order, const ExecutionRange& range, OnFound found, std::size_t waiting_max);
  // Does the same with the fills of a range. It counts as a lookup.
  using OnFills = std::function<void(Fills)>;
  bool read_fills(const FillRange& range, OnFills on_read, std::size_t waiting_max);
  // Does the same with the events of each range that the tables have. The caller limits how many of
  // these calls wait: one for each connection.
  using Events = std::vector<std::vector<EventRow>>;
  using OnEvents = std::function<void(Events)>;
  void read_events(std::vector<EventRange> ranges, OnEvents on_read);

 private:
  struct Lookup {
    OrderId order;
    ExecutionRange range;
    OnFound found;
  };
  struct EventsLookup {
    std::vector<EventRange> ranges;
    OnEvents on_read;
  };
  struct FillsLookup {
    FillRange range;
    OnFills on_read;
  };
  using Job = std::variant<Submission*, Lookup, EventsLookup, FillsLookup>;
  struct Queue {
    // Served in turn. Bounded: each connection has at most one submission, and lookups are counted.
    std::deque<Job> waiting;
    std::size_t lookups = 0;
    bool stopping = false;
  };

  void run();
  bool run(Submission* submission);
  bool run(const Lookup& lookup);
  bool run(const EventsLookup& lookup);
  bool run(const FillsLookup& lookup);
  bool add_lookup(Job lookup, std::size_t waiting_max);
  enum class Progress { done, more, stopped };
  Progress resolve_some(Submission& submission);
  template <class Read>
  auto with_retries(const char* what, Read read) -> decltype(read());
  std::optional<StoredOrder> read_order(OrderId order, const ExecutionRange& range);

  Tables& tables_;
  Clock& clock_;
  const CoreLimits& limits_;
  Metrics& metrics_;
  Health& health_;
  const std::shared_ptr<ExecutionsHeld::Counter> executions_held_;
  const OnFatal on_fatal_;
  Guarded<Queue> queue_;
  Bursts bursts_;
  Thread thread_;
};

// Returns the executions that the outcome of the command needs. If it needs any, it needs their
// total too.
ExecutionRange executions_to_read(const Command& command);
// Returns the outcome of a query, cancel or replace by `account`, from the stored order with these
// executions.
Outcome outcome_from_tables(const Command& command, AccountNumber account,
                            const std::optional<StoredOrder>& stored, DoorPolicy policy = {});

}  // namespace exchange
