#include "core/committer.hpp"

#include <algorithm>

#include "base/log.hpp"
#include "engine/look_ahead.hpp"

namespace exchange {

std::size_t Committer::commit(std::span<Submission* const> submissions) {
  const std::int64_t begin_ns = clock_.monotonic_ns();
  health_->begin_batch(begin_ns);
  const Timestamp now = next_time();
  writer_.begin(now);
  exchange_.begin_batch(last_batch_ + 1);
  submissions = submissions.first(apply(submissions, now));
  Metrics::add(metrics_.batches);
  const std::int64_t applied_ns = clock_.monotonic_ns();
  commit_until_certain(writer_.empty() ? std::string_view() : writer_.finish(exchange_.totals()));
  Metrics::set(metrics_.executions, exchange_.totals().executions);
  health_->end_batch();
  stamp(submissions, begin_ns, applied_ns);
  return submissions.size();
}

// The system clock may be set back, but the time of the exchange never decreases. So it stands
// still until a clock that was ahead is passed; the operator has to know that.
Timestamp Committer::next_time() {
  constexpr std::int64_t second_us = 1'000'000;  // a smaller step is usual: clocks are corrected
  const Timestamp now = clock_.now(), last = exchange_.totals().last_time;
  const std::int64_t behind_us = std::max<std::int64_t>(last.microseconds - now.microseconds, 0);
  const bool is_behind = behind_us >= second_us;
  if (is_behind != clock_is_behind_) {
    clock_is_behind_ = is_behind;
    if (is_behind)
      log_warning(
          "the system clock is {} s behind the newest time in the journal: new orders and "
          "executions get that time until the clock has caught up; is the clock right?",
          behind_us / second_us);
    else
      log_warning("the system clock has caught up with the newest time in the journal");
  }
  Metrics::set(metrics_.clock_behind_s, std::uint64_t(behind_us / second_us));
  return std::max(now, last);
}

void Committer::stamp(std::span<Submission* const> submissions, std::int64_t begin_ns,
                      std::int64_t applied_ns) const {
  const std::int64_t committed_ns = clock_.monotonic_ns();
  for (Submission* submission : submissions) {
    if (!submission->stamps.sampled()) continue;
    submission->stamps.end(Stage::queue, begin_ns);
    submission->stamps.end(Stage::apply, applied_ns);
    submission->stamps.end(Stage::commit, committed_ns);
  }
}

std::size_t Committer::apply(std::span<Submission* const> submissions, Timestamp now) {
  commands_.clear();
  for (const Submission* submission : submissions)
    for (const Command& command : submission->commands) commands_.push_back(&command);

  LookAhead ahead(exchange_, commands_);
  std::size_t at = 0;
  CommandCounts counts;
  const TermCancels before = exchange_.term_cancels();
  std::size_t applied = 0;
  for (std::size_t executions_of_all = 0;
       applied < submissions.size() && executions_of_all <= limits_.executions_held_max;
       ++applied) {
    Submission* const submission = submissions[applied];
    submission->forget_outcomes();
    submission->outcomes.reserve(submission->commands.size());
    std::size_t executions = 0;
    ReplyLength length(limits_.reply_executions_max);
    for (const Command& command : submission->commands) {
      const Located& located = ahead.next();
      const bool is_long = length.is_long();
      Outcome& outcome = submission->outcomes.emplace_back(
          length.refuses(command) ? Rejected{Reason::reply_too_long}
                                  : exchange_.apply(command, now, located, submission->policy));
      ++at;
      const auto* const cancel = std::get_if<CancelOrder>(&command);
      if (cancel != nullptr && cancel->at_disconnect &&
          std::holds_alternative<NotInMemory>(outcome))
        outcome = Rejected{Reason::nothing_open};
      if (is_long) list_no_executions(outcome);
      executions += execution_count(outcome);
      length.add(outcome);
      if (changed_state(outcome)) writer_.add(command);
      counts.add(command, outcome);
    }
    submission->executions_held.add(executions_held_, executions);
    executions_of_all += executions;
  }
  counts.move_to(metrics_);
  const TermCancels& after = exchange_.term_cancels();
  Metrics::add(metrics_.canceled_orders[CancelCause::immediate],
               after.immediate - before.immediate);
  Metrics::add(metrics_.canceled_orders[CancelCause::stp], after.self_trade - before.self_trade);
  metrics_.batch_commands.record(at);
  return applied;
}

void Committer::confirm() {
  health_->begin_batch(clock_.monotonic_ns());
  commit_until_certain({});
  health_->end_batch();
}

void Committer::commit_until_certain(std::string_view payload) {
  const BatchNumber batch = last_batch_ + 1;
  const std::int64_t begin_ns = clock_.monotonic_ns();
  OutageReasons reasons;
  for (bool in_doubt = false;;) {
    health_->beat(clock_.monotonic_ns());
    health_->begin_store_call();
    try {
      // A failed append may have been committed. Look it up by its batch number before a retry.
      if (in_doubt && journal_.resolve_in_doubt(batch)) break;
      if (payload.empty())
        journal_.confirm_epoch();
      else
        journal_.append(batch, payload);
      break;
    } catch (const StoreUnavailable& error) {
      Metrics::add(metrics_.store_failures);
      health_->set_store_available(false);
      if (reasons.is_new(error.what()))
        log_error("the store is unavailable; replies wait until it is available again: {}",
                  error.what());
      if (!in_doubt && !payload.empty()) Metrics::add(metrics_.commits_in_doubt);
      // The first retry does not pause: a standby takes over if the active server stays
      // disconnected.
      if (in_doubt) clock_.pause(limits_.store_retry_ms);
      in_doubt = true;
    }
  }
  health_->end_store_call();
  if (health_->set_store_available(true)) log_warning("the store is available again");
  if (payload.empty()) return;
  last_batch_ = batch;
  Metrics::add(metrics_.batches_committed);
  Metrics::add(metrics_.journal_bytes, payload.size());
  Metrics::add(metrics_.commit_us, std::uint64_t(clock_.monotonic_ns() - begin_ns) / 1'000);
  Metrics::set(metrics_.batch, batch);
}

}  // namespace exchange
