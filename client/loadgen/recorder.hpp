#pragma once
// Writes the history of a run, for the audit: one record for each reply element that the audit
// needs. Thread: one at a time, the worker's.

#include <string_view>

#include "client/loadgen/audit/history.hpp"
#include "client/loadgen/reply_check.hpp"

namespace exchange::loadgen {

class Recorder {
 public:
  struct Context {
    std::uint32_t client, account;
    std::int64_t sent, answered;  // nanoseconds since the start
  };
  // Call it before the elements of each reply, which come in their order.
  void begin_reply();
  // Records a right reply element to `action`. Returns the error in one that the audit cannot read.
  std::string_view record(const Context& context, const Action& action, const CheckedElement& reply,
                          Deviations& deviations);
  History& history() { return history_; }

 private:
  void record_order(const Context& context, const Action& action, std::uint64_t id);
  void record_replace(const Context& context, const Action& action, std::size_t element);
  // The place of an element that is not an order.
  Place place_of(std::size_t element) const {
    return {opened_last_, Place::Side::after, std::uint16_t(element)};
  }
  std::string_view record_cancel_of_all(const Context& context, const Action& action,
                                        const CheckedElement& reply, Deviations& deviations);
  std::string_view record_state(const Context& context, Observation::Kind kind, std::uint64_t id,
                                const client::ReplyElement& element, Deviations& deviations);
  History history_;
  // The state of the current reply:
  std::uint64_t opened_last_ = 0;
  std::size_t first_replace_ = 0, first_cancel_of_all_ = 0;
  Status status_;  // the one read last: its memory is reused
};

}  // namespace exchange::loadgen
