#pragma once
// StandaloneExchange is the engine for a separate program, such as a back-test. It has no tables
// for closed orders, so it forgets them and their executions after a while. Its memory depends only
// on the open orders, however long it runs.
//   StandaloneExchange market([](const ExecutionRow& execution) { ... });
//   Outcome outcome = market.apply(PlaceOrder(...), now);
// Owner: the caller. Thread: one at a time.

#include <cstddef>
#include <functional>
#include <utility>

#include "engine/exchange.hpp"

namespace exchange {

class StandaloneExchange {
 public:
  // Called for each execution, in order of ids, before apply() returns. It must not call the
  // exchange.
  using OnExecution = std::function<void(const ExecutionRow&)>;

  // `changed_rows_max` limits orders, executions and other rows that changed; beyond it, closed
  // orders are forgotten. A query or cancel of a forgotten order returns NotInMemory.
  explicit StandaloneExchange(OnExecution on_execution = {}, std::size_t changed_rows_max = 10'000)
      : on_execution_(std::move(on_execution)), changed_rows_max_(changed_rows_max) {}

  // Does the same as Exchange::apply().
  Outcome apply(const Command& command, Timestamp now) {
    Outcome outcome = exchange_.apply(command, now);
    if (const ExecutionId newest = exchange_.totals().executions; newest > reported_) {
      if (on_execution_)
        for (const ExecutionRow& row : exchange_.executions_after(reported_)) on_execution_(row);
      reported_ = newest;
    }
    if (exchange_.changed_rows() > changed_rows_max_) forget_closed();
    return outcome;
  }
  // Forgets closed orders at once.
  void forget_closed() {
    Rows forgotten;
    exchange_.release_closed(exchange_.take_changes(forgotten));
  }

  // Returns books, balances, positions and counters.
  const Exchange& state() const { return exchange_; }

 private:
  Exchange exchange_;
  const OnExecution on_execution_;
  const std::size_t changed_rows_max_;
  ExecutionId reported_ = 0;
};

}  // namespace exchange
