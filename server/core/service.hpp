#pragma once
// What a transport asks of the core: run these commands, tell me when their outcomes are committed.

#include <span>
#include <vector>

#include "engine/commands.hpp"
#include "metrics/stages.hpp"

namespace exchange {

struct Credentials;
struct Submission;

// Called once per batch with all its completed submissions of this sink, from the core's threads.
// Must hand over quickly and never block.
class CompletionSink {
 public:
  virtual void completed(std::span<Submission* const> submissions) = 0;

 protected:
  ~CompletionSink() = default;
};

// One wave of one connection. Owner: the connection, which must not touch it from submit() until the
// sink gets it back.
struct Submission {
  std::span<const Command> commands;  // at least one
  std::vector<Outcome> outcomes;      // when completed: one per command, in order
  CompletionSink* sink = nullptr;
  StageStamps stamps;
  Credentials* credentials = nullptr;  // where accounts have keys: what the gate checks before the core sees the commands
};

// Executions that the outcome tells; bounds how long a reply may get (CoreLimits::reply_executions_max).
inline std::size_t executions_told(const Outcome& outcome) {
  if (const auto* status = std::get_if<Status>(&outcome)) return status->executions.size();
  if (const auto* canceled = std::get_if<Canceled>(&outcome)) return canceled->status.executions.size();
  return 0;
}

class Service {
 public:
  // Queues them, in this order. Any thread. Each completes once what its outcomes say is committed;
  // while the store is away that takes until it is back.
  virtual void submit(std::span<Submission* const> submissions) = 0;

 protected:
  ~Service() = default;
};

}  // namespace exchange
