#include "core/order_reader.hpp"

#include <pthread.h>
#include <spdlog/spdlog.h>

namespace exchange {

Outcome outcome_from_tables(const Command& command, AccountNumber account, const std::optional<StoredOrder>& stored) {
  if (!stored || stored->row.account != account) return Rejected{Reason::unknown_order};
  if (std::holds_alternative<CancelOrder>(command)) return Rejected{Reason::nothing_open};
  return Status{stored->row.id, stored->row.open, stored->row.canceled, stored->row.canceled_at, stored->executions};
}

OrderReader::OrderReader(Store& store, Clock& clock, const CoreLimits& limits, Metrics& metrics)
    : store_(store), clock_(clock), limits_(limits), metrics_(metrics) {
  thread_ = std::thread([this] {
    pthread_setname_np(pthread_self(), "order-reader");
    run();
  });
}

OrderReader::~OrderReader() {
  queue_.with([](Queue& queue) { queue.stopping = true; });
  queue_.notify();
  thread_.join();
}

void OrderReader::resolve(Submission& submission) {
  queue_.with([&](Queue& queue) { queue.waiting.push_back(&submission); });
  queue_.notify();
}

void OrderReader::run() {
  while (true) {
    Submission* submission = queue_.when([](const Queue& queue) { return queue.stopping || !queue.waiting.empty(); },
                                         [](Queue& queue) -> Submission* {
                                           if (queue.waiting.empty()) return nullptr;
                                           Submission* first = queue.waiting.front();
                                           queue.waiting.pop_front();
                                           return first;
                                         });
    if (submission == nullptr || !resolve_outcomes(*submission)) return;
    submission->sink->completed({&submission, 1});
  }
}

// False where the store is away and we are to stop.
bool OrderReader::resolve_outcomes(Submission& submission) {
  std::size_t executions = 0;
  for (std::size_t at = 0; at < submission.outcomes.size(); ++at) {
    const auto* missing = std::get_if<NotInMemory>(&submission.outcomes[at]);
    if (missing == nullptr) {
      executions += executions_told(submission.outcomes[at]);
      continue;
    }
    if (executions > limits_.reply_executions_max) {
      submission.outcomes[at] = Rejected{Reason::reply_too_long};
      continue;
    }
    for (bool failed = false;;) {
      try {
        submission.outcomes[at] =
            outcome_from_tables(submission.commands[at], missing->account, store_.read_order(missing->order));
        executions += executions_told(submission.outcomes[at]);
        Metrics::add(metrics_.orders_read);
        break;
      } catch (const StoreUnavailable& error) {
        Metrics::add(metrics_.store_failures);
        if (!failed) spdlog::error("reading an order failed, trying again: {}", error.what());
        failed = true;
        if (queue_.with([](Queue& queue) { return queue.stopping; })) return false;
        clock_.pause(limits_.store_retry_ms);
      }
    }
  }
  return true;
}

}  // namespace exchange
