#include "core/order_reader.hpp"

#include <algorithm>
#include <chrono>

#include "base/log.hpp"

namespace exchange {

ExecutionRange executions_to_read(const Command& command) {
  const auto* query = std::get_if<QueryOrder>(&command);
  if (query == nullptr) return {.count = 0};
  const std::uint64_t skipped = std::min<std::uint64_t>(query->from - 1, INT64_MAX);
  return {.count = listed_executions_max, .before = skipped + listed_executions_max};
}

Outcome outcome_from_tables(const Command& command, AccountNumber account,
                            const std::optional<StoredOrder>& stored, DoorPolicy policy) {
  const auto* query = std::get_if<QueryOrder>(&command);
  const bool of_any_account = query != nullptr && policy.open_queries;
  if (!stored || (stored->row.account != account && !of_any_account))
    return Rejected{Reason::unknown_order};
  if (std::holds_alternative<CancelOrder>(command) || std::holds_alternative<ReplaceOrder>(command))
    return Rejected{Reason::nothing_open};
  Status status{
      stored->row.id, stored->row.open, stored->row.canceled, stored->row.canceled_at, {}};
  const std::uint64_t total = stored->executions_total;
  status.skipped = std::min(query->from - 1, total);
  // near the end of the order's executions, the range begins with some that the query skips
  const std::uint64_t first = status.skipped - executions_to_read(command).begin(total);
  status.executions.assign(stored->executions.begin() + std::ptrdiff_t(first),
                           stored->executions.end());
  const std::uint64_t last = status.skipped + status.executions.size();
  if (last < total) status.next = last + 1;
  return status;
}

OrderReader::OrderReader(Tables& tables, Clock& clock, const CoreLimits& limits, Metrics& metrics,
                         Health& health, std::shared_ptr<ExecutionsHeld::Counter> executions_held,
                         OnFatal on_fatal)
    : tables_(tables),
      clock_(clock),
      limits_(limits),
      metrics_(metrics),
      health_(health),
      executions_held_(std::move(executions_held)),
      on_fatal_(std::move(on_fatal)) {
  thread_ = start_thread("order-reader", on_fatal_, [this] { run(); });
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

bool OrderReader::look_up(OrderId order, const ExecutionRange& range, OnFound found,
                          std::size_t waiting_max) {
  return add_lookup(Lookup{order, range, std::move(found)}, waiting_max);
}

bool OrderReader::read_fills(const FillRange& range, OnFills on_read, std::size_t waiting_max) {
  return add_lookup(FillsLookup{range, std::move(on_read)}, waiting_max);
}

bool OrderReader::add_lookup(Job lookup, std::size_t waiting_max) {
  const bool taken = queue_.with([&](Queue& queue) {
    if (queue.stopping || queue.lookups >= waiting_max) return false;
    ++queue.lookups;
    queue.waiting.push_back(std::move(lookup));
    return true;
  });
  if (taken) queue_.notify();
  return taken;
}

void OrderReader::read_events(std::vector<EventRange> ranges, OnEvents on_read) {
  queue_.with([&](Queue& queue) {
    if (!queue.stopping)
      queue.waiting.push_back(EventsLookup{std::move(ranges), std::move(on_read)});
  });
  queue_.notify();
}

void OrderReader::run() {
  while (true) {
    std::optional<Job> job =
        queue_.when([](const Queue& queue) { return queue.stopping || !queue.waiting.empty(); },
                    [](Queue& queue) -> std::optional<Job> {
                      if (queue.waiting.empty()) return {};
                      Job first = std::move(queue.waiting.front());
                      queue.waiting.pop_front();
                      queue.lookups -= std::holds_alternative<Lookup>(first) ||
                                       std::holds_alternative<FillsLookup>(first);
                      return first;
                    });
    if (!job) return;
    const bool goes_on = std::visit([this](auto& one) { return run(one); }, *job);
    if (!goes_on) return;
  }
}

// Each run() returns false if the reader must stop.

bool OrderReader::run(Submission* submission) {
  const Progress progress = resolve_some(*submission);
  if (progress == Progress::done) submission->sink->completed({&submission, 1});
  // A long request goes to the end of the queue, so that other requests need not wait for all of
  // it.
  if (progress == Progress::more) resolve(*submission);
  return progress != Progress::stopped;
}

bool OrderReader::run(const Lookup& lookup) {
  try {
    // Lookups serve HTTP: requests of the XML port have priority.
    const Bursts::Work work(bursts_, std::chrono::milliseconds(10));
    lookup.found(lookup.order > std::uint64_t(INT64_MAX) ? std::nullopt
                                                         : read_order(lookup.order, lookup.range));
    return true;
  } catch (const StoreUnavailable&) {
    return false;
  }
}

bool OrderReader::run(const EventsLookup& lookup) {
  try {
    const Bursts::Work work(bursts_, std::chrono::milliseconds(10));
    Events events;
    for (const EventRange& range : lookup.ranges)
      events.push_back(with_retries("events of an account", [&] {
        return tables_.read_events(range.account, range.first, range.last);
      }));
    lookup.on_read(std::move(events));
    return true;
  } catch (const StoreUnavailable&) {
    return false;
  }
}

bool OrderReader::run(const FillsLookup& lookup) {
  try {
    const Bursts::Work work(bursts_, std::chrono::milliseconds(10));
    lookup.on_read(
        with_retries("fills of an account", [&] { return tables_.read_fills(lookup.range); }));
    return true;
  } catch (const StoreUnavailable&) {
    return false;
  }
}

OrderReader::Progress OrderReader::resolve_some(Submission& submission) {
  constexpr int reads_at_once = 64;
  // If a submission has more executions than this in memory, it is resolved to its end at once.
  constexpr std::size_t executions_put_back_max = 100;
  int reads = 0;
  std::size_t executions = 0;
  ReplyLength length(limits_.reply_executions_max);
  for (std::size_t at = 0; at < submission.outcomes.size(); ++at) {
    Outcome& outcome = submission.outcomes[at];
    if (const auto* missing = std::get_if<NotInMemory>(&outcome)) {
      const Command& command = submission.commands[at];
      const bool too_long = length.refuses(command);
      if (!too_long && ++reads > reads_at_once && executions <= executions_put_back_max)
        return Progress::more;
      try {
        outcome = too_long
                      ? Outcome(Rejected{Reason::reply_too_long})
                      : outcome_from_tables(command, missing->account,
                                            read_order(missing->order, executions_to_read(command)),
                                            submission.policy);
      } catch (const StoreUnavailable&) {
        return Progress::stopped;
      }
      if (!too_long) Metrics::add(metrics_.orders_read);
      CommandCounts counts;
      counts.add(command, outcome);
      counts.move_to(metrics_);
      submission.executions_held.add(executions_held_, execution_count(outcome));
    }
    executions += execution_count(outcome);
    length.add(outcome);
  }
  return Progress::done;
}

// Retries while the store is unavailable; throws StoreUnavailable only if the reader must stop.
template <class Read>
auto OrderReader::with_retries(const char* what, Read read) -> decltype(read()) {
  for (OutageReasons reasons;;) {
    health_.begin_read(clock_.monotonic_ns());
    try {
      auto found = read();
      health_.end_read(true);
      return found;
    } catch (const StoreUnavailable& error) {
      health_.end_read(false);
      Metrics::add(metrics_.store_failures);
      if (reasons.is_new(error.what()))
        log_error("reading {} failed, trying again: {}", what, error.what());
      if (queue_.with([](Queue& queue) { return queue.stopping; })) throw;
      clock_.pause(limits_.store_retry_ms);
    }
  }
}

std::optional<StoredOrder> OrderReader::read_order(OrderId order, const ExecutionRange& range) {
  return with_retries("an order", [&] { return tables_.read_order(order, range); });
}

}  // namespace exchange
