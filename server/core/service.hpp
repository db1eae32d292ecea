#pragma once
// What a transport asks of the core: run these commands, tell me when their outcomes are committed.

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

// Called once per batch with all its completed submissions of this sink, from the core's threads.
// Must hand over quickly and never block.
class CompletionSink {
 public:
  virtual void completed(std::span<Submission* const> submissions) = 0;

 protected:
  ~CompletionSink() = default;
};

// Executions that outcomes hold, for as long as they hold them: what the core counts, so that many
// long histories are not told all at once.
class ExecutionsHeld {
 public:
  using Counter = std::atomic<std::int64_t>;
  ExecutionsHeld() = default;
  ExecutionsHeld(const ExecutionsHeld&) = delete;
  ~ExecutionsHeld() { release(); }
  // The counter is shared: who takes its outcomes late may outlive the core.
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

// One request batch of one connection. Owner: the connection, which must not touch it from submit()
// until the sink gets it back.
struct Submission {
  std::span<const Command> commands;  // at least one
  std::vector<Outcome> outcomes;      // when completed: one per command, in order
  CompletionSink* sink = nullptr;
  StageStamps stamps;
  ExecutionsHeld executions_held;  // by the outcomes

  // Completes it without the core: every command is rejected.
  void refuse(Reason reason) {
    outcomes.assign(commands.size(), Rejected{reason});
    for (const Stage stage : {Stage::queue, Stage::apply, Stage::commit}) stamps.end(stage);
  }
  // Once the reply is written: a silent connection keeps no outcomes, and no memory of many.
  void forget_outcomes() {
    constexpr std::size_t kept_max = 256;
    outcomes.clear();
    if (outcomes.capacity() > kept_max) outcomes.shrink_to_fit();
    executions_held.release();
  }
};

// Executions that the outcome tells; bounds how long a reply may get
// (CoreLimits::reply_executions_max).
inline std::size_t execution_count(const Outcome& outcome) {
  if (const auto* status = std::get_if<Status>(&outcome)) return status->executions.size();
  if (const auto* canceled = std::get_if<Canceled>(&outcome))
    return canceled->status.executions.size();
  return 0;
}

class Service {
 public:
  // Queues them, in this order; small ones overtake large ones. Any thread. Each completes once
  // what its outcomes say is committed; while the store is away that takes until it is back.
  virtual void submit(std::span<Submission* const> submissions) = 0;

 protected:
  ~Service() = default;
};

}  // namespace exchange
