#pragma once
// Writes the history of a run, for the audit: one record for each reply element that the audit
// needs. Thread: one at a time, the worker's.

#include <string_view>

#include "client/loadgen/history.hpp"
#include "client/loadgen/reply_check.hpp"

namespace exchange::loadgen {

class Recorder {
 public:
  struct Context {
    std::uint32_t client, account;
    std::int64_t sent, answered;  // nanoseconds since the start
  };
  // A right reply element to `action`. Returns the problem of one that the audit cannot read.
  std::string_view record(const Context& context, const Action& action, const CheckedElement& reply,
                          Deviations& deviations);
  History& history() { return history_; }

 private:
  std::string_view record_state(const Context& context, const Action& action,
                                const client::ReplyElement& element, Deviations& deviations);
  History history_;
  Status status_;  // read last: its memory is used again
};

}  // namespace exchange::loadgen
