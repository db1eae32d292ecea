#pragma once
// The interface between connections and the core. A connection submits commands; the core calls its
// sink when their outcomes are committed. Server owns the service; a door owns its sinks. Threads:
// as noted.

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "engine/commands.hpp"
#include "metrics/stages.hpp"

namespace exchange {

struct Submission;

// The transports, CoreClient and Scheduler implement it.
class CompletionSink {
 public:
  // Called once per batch with all completed submissions of this sink, on the core thread or the
  // order reader's. It must hand them over quickly and never block.
  virtual void completed(std::span<Submission* const> submissions) = 0;

 protected:
  ~CompletionSink() = default;
};

// Counts the executions (24 bytes each) in outcomes that are not in a reply yet. The core waits
// while there are too many (CoreLimits::executions_held_max), so that many long order histories,
// queried at the same time, do not exhaust the memory.
class ExecutionsHeld {
 public:
  using Counter = std::atomic<std::int64_t>;
  ExecutionsHeld() = default;
  ExecutionsHeld(const ExecutionsHeld&) = delete;
  ~ExecutionsHeld() { release(); }
  // The counter is shared, because a connection that releases its outcomes late may outlive the
  // core.
  void add(const std::shared_ptr<Counter>& counter, std::size_t executions) {
    if (executions == 0) return;
    counter_ = counter;
    count_ += std::int64_t(executions);
    counter->fetch_add(std::int64_t(executions), std::memory_order_relaxed);
  }
  void release() {
    if (count_ != 0) counter_->fetch_sub(std::exchange(count_, 0), std::memory_order_relaxed);
  }

 private:
  std::shared_ptr<Counter> counter_;
  std::int64_t count_ = 0;
};

// The commands of one request batch of one connection. Owner: the connection, which must not touch
// it between submit() and the call of its sink.
struct Submission {
  std::span<const Command> commands;  // at least one
  std::vector<Outcome> outcomes;      // when completed: one per command, in order
  CompletionSink* sink = nullptr;
  DoorPolicy policy;
  StageStamps stamps;
  ExecutionsHeld executions_held;  // by the outcomes

  // Completes the submission without the core: every command is rejected.
  void refuse(Reason reason) {
    outcomes.assign(commands.size(), Rejected{reason});
    for (const Stage stage : {Stage::queue, Stage::apply, Stage::commit}) stamps.end(stage);
  }
  // Call it once the reply is written, so that an idle connection keeps no outcomes in memory.
  void forget_outcomes() {
    constexpr std::size_t kept_max = 256;
    outcomes.clear();
    if (outcomes.capacity() > kept_max) outcomes.shrink_to_fit();
    executions_held.release();
  }
};

// Returns how much memory and reply an outcome takes: its executions, and each order of a
// CanceledAll.
inline std::size_t execution_count(const Outcome& outcome) {
  if (const auto* status = std::get_if<Status>(&outcome)) return status->executions.size();
  if (const auto* canceled = std::get_if<Canceled>(&outcome))
    return canceled->status.executions.size();
  if (const auto* all = std::get_if<CanceledAll>(&outcome)) {
    std::size_t count = 0;
    for (const Status& one : all->orders) count += 1 + one.executions.size();
    return count;
  }
  return 0;
}

// Counts the cost of the reply to a request batch so far, of at most
// CoreLimits::reply_executions_max (R13). An execution that a query skips costs the same time as
// one that it lists.
class ReplyLength {
 public:
  explicit ReplyLength(std::size_t executions_max) : max_(executions_max) {}
  bool is_long() const { return count_ >= max_; }
  bool refuses(const Command& command) const { return is_long() && may_be_too_long(command); }
  void add(const Outcome& outcome) {
    count_ += execution_count(outcome);
    if (const auto* status = std::get_if<Status>(&outcome)) count_ += status->skipped;
  }

 private:
  const std::size_t max_;
  std::size_t count_ = 0;
};

// Applies to a cancel of one order, which is never refused for the length of a reply (R13).
inline void list_no_executions(Outcome& outcome) {
  auto* const canceled = std::get_if<Canceled>(&outcome);
  if (canceled == nullptr || canceled->status.executions.empty()) return;
  std::vector<Execution>().swap(canceled->status.executions);
  canceled->status.next = 1;
}

class Service {
 public:
  // Queues the submissions in this order, but small ones overtake large ones
  // (CoreLimits::small_commands_max). Each completes when the batch that its outcomes depend on is
  // committed. While the store is unavailable, no submission completes. Any thread.
  virtual void submit(std::span<Submission* const> submissions) = 0;

 protected:
  ~Service() = default;
};

}  // namespace exchange
