#include "core/core.hpp"

#include <algorithm>
#include <chrono>
#include <limits>

#include "base/fail_point.hpp"

namespace exchange {

constexpr std::chrono::seconds beat_interval(1);
constexpr std::size_t all = std::numeric_limits<std::size_t>::max();

Core::Core(Recovered recovered, Store& store, Clock& clock, const CoreLimits& limits,
           Metrics& metrics, OnFatal on_fatal, OnProjected on_projected, OnEvents on_events)
    : limits_(limits),
      metrics_(metrics),
      clock_(clock),
      may_have_standbys_(store.allows_standby()),
      on_fatal_(std::move(on_fatal)),
      committer_(std::move(recovered.exchange), recovered.last_batch, store.journal(), clock,
                 limits, metrics),
      health_(committer_.health()),
      on_events_(std::move(on_events)),
      order_reader_(store.tables(), clock, limits, metrics, *health_, committer_.executions_held(),
                    on_fatal_),
      projector_(
          store.tables(), store.journal(), clock, limits, metrics, *health_,
          std::move(on_projected),
          [this] {
            inbox_.with([](Inbox& inbox) { inbox.projector_idle = true; });
            inbox_.notify();
          },
          on_fatal_) {
  Metrics::set(metrics_.executions, committer_.exchange().totals().executions);
  Metrics::set(metrics_.batch, recovered.last_batch);
  Metrics::set(metrics_.projected_batch, recovered.last_batch - recovered.batches_replayed);
  note_unprojected();  // of replayed batches, before a client can ask
  show_events();
  thread_ = start_thread("core", on_fatal_, [this] { run(); });
}

Core::~Core() {
  inbox_.with([](Inbox& inbox) { inbox.stopping = true; });
  inbox_.notify();
  thread_.join();
}

void Core::leave_projection() {
  inbox_.with([](Inbox& inbox) { inbox.leaves_projection = true; });
}

void Core::submit(std::span<Submission* const> submissions) {
  const bool was_empty = inbox_.with([&](Inbox& inbox) {
    const bool empty = inbox.submissions.empty();
    inbox.submissions.insert(inbox.submissions.end(), submissions.begin(), submissions.end());
    Metrics::set(metrics_.inbox_depth, inbox.submissions.size());
    return empty;
  });
  if (was_empty) inbox_.notify();
}

void Core::confirm(std::function<void()> confirmed) {
  inbox_.with([&](Inbox& inbox) { inbox.confirmations.push_back(std::move(confirmed)); });
  inbox_.notify();
}

void Core::run() {
  std::vector<Submission*> submissions;
  std::vector<std::function<void()>> confirmations;
  bool stopping = false;
  show_state();
  offer_projection(all);  // batches that recovery replayed
  while (!stopping) {
    const auto has_work = [&](const Inbox& inbox) {
      return !inbox.submissions.empty() || !inbox.confirmations.empty() || inbox.projector_idle ||
             inbox.stopping || !large_.empty() || hand_over_ || !all_released_;
    };
    beat();
    while (!inbox_.wait_for(beat_interval, has_work)) {
      beat();
      // A standby server takes over if this one's connection is lost, idle or not.
      if (may_have_standbys_) committer_.confirm();
    }
    inbox_.when(has_work, [&](Inbox& inbox) {
      submissions.clear();
      submissions.swap(inbox.submissions);
      confirmations.swap(inbox.confirmations);
      Metrics::set(metrics_.inbox_depth, 0);
      inbox.projector_idle = false;
      stopping = inbox.stopping && submissions.empty() && large_.empty();
    });
    defer_large(submissions);
    std::size_t commands = run_batches(submissions);
    take_large(submissions);
    commands += run_batches(submissions);
    if (!confirmations.empty()) committer_.confirm();
    for (const auto& confirmed : confirmations) confirmed();
    confirmations.clear();
    release_closed(limits_.orders_at_once + commands);
    // a command changes its own order, and may change a maker in part and close others
    offer_projection(limits_.orders_at_once + 3 * commands);
    if (commands == 0) yield_cpu();  // so that the transport need not wait for all portions
    show_state();
  }
  if (!inbox_.with([](const Inbox& inbox) { return inbox.leaves_projection; })) project_rest();
}

// Small submissions do not wait behind all large ones: take_large() adds only a few to each turn.
// Requests of one connection stay in order, because it has one submission at a time.
void Core::defer_large(std::vector<Submission*>& submissions) {
  const auto first = std::stable_partition(
      submissions.begin(), submissions.end(),
      [&](const Submission* one) { return one->commands.size() <= limits_.small_commands_max; });
  large_.insert(large_.end(), first, submissions.end());
  submissions.erase(first, submissions.end());
}

void Core::take_large(std::vector<Submission*>& submissions) {
  submissions.clear();
  const std::size_t enough = std::max<std::size_t>(limits_.batch_commands_max / 4, 1);
  for (std::size_t commands = 0; commands < enough && !large_.empty(); large_.pop_front()) {
    commands += large_.front()->commands.size();
    submissions.push_back(large_.front());
  }
}

// Bounds the memory of many long order histories that are queried at the same time. Connections
// turn outcomes into reply text without waiting for a client, so this never takes long.
void Core::wait_for_reply_memory() {
  while (committer_.executions_held()->load(std::memory_order_relaxed) >
         std::int64_t(limits_.executions_held_max))
    clock_.pause(1);
}

std::size_t Core::run_batches(std::vector<Submission*>& submissions) {
  std::size_t commands_of_all = 0;
  for (std::size_t first = 0; first < submissions.size();) {
    std::size_t last = first, commands = 0;
    while (last < submissions.size() && commands < limits_.batch_commands_max)
      commands += submissions[last++]->commands.size();
    std::span<Submission* const> batch(submissions.data() + first, last - first);
    Metrics::set(metrics_.taken_depth, submissions.size() - last + large_.size());
    wait_for_reply_memory();
    beat();
    batch = batch.first(committer_.commit(batch));
    note_unprojected();  // before a client can know of it
    complete(batch);
    // On a shared CPU the transport now sends these replies. What it receives meanwhile joins the
    // next batch: fewer commits and fewer switches between threads.
    yield_cpu();
    show_events();
    first += batch.size();
    commands_of_all += commands;
    const std::size_t unprojected = committer_.exchange().changed_rows();
    if (unprojected > limits_.unprojected_rows_max) {
      wait_for_projector();
      offer_projection(limits_.orders_at_once);
    } else if (unprojected > limits_.unprojected_rows_max / 16) {
      slow_down();
    }
  }
  return commands_of_all;
}

// Only this function and OrderReader release outcomes to connections.
void Core::complete(std::span<Submission* const> submissions) {
  fail_point("reply.before_completion");
  for (Submission* submission : submissions) {
    const bool unresolved = std::any_of(
        submission->outcomes.begin(), submission->outcomes.end(),
        [](const Outcome& outcome) { return std::holds_alternative<NotInMemory>(outcome); });
    if (unresolved) {
      order_reader_.resolve(*submission);
      continue;
    }
    auto entry = std::find_if(by_sink_.begin(), by_sink_.end(),
                              [&](const auto& e) { return e.first == submission->sink; });
    if (entry == by_sink_.end()) entry = by_sink_.insert(by_sink_.end(), {submission->sink, {}});
    entry->second.push_back(submission);
  }
  for (auto& [sink, completed] : by_sink_) {
    if (completed.empty()) continue;
    sink->completed(completed);
    completed.clear();
  }
}

void Core::show_state() {
  const Exchange& exchange = committer_.exchange();
  Metrics::set(metrics_.accounts, exchange.accounts());
  Metrics::set(metrics_.symbols, exchange.symbols());
  Metrics::set(metrics_.open_orders, exchange.open_orders());
  Metrics::set(metrics_.orders_in_memory, exchange.orders_in_memory());
}

// Gives the events of the batch to the clients that follow their accounts.
void Core::show_events() {
  const Exchange& exchange = committer_.exchange();
  const std::span events = exchange.new_events().subspan(events_shown_);
  const std::span references = exchange.new_references().subspan(references_shown_);
  events_shown_ += events.size();
  references_shown_ += references.size();
  if (events.empty() || !events_expected_) return;
  references_of_events_.clear();
  for (const ReferenceRow& row : references)
    if (exchange.state().ledger.account(row.account).events() != 0)
      references_of_events_.push_back(row);
  on_events_(events, references_of_events_, committer_.last_batch());
}

void Core::note_unprojected() {
  if (committer_.exchange().changed_rows() == 0) return;
  health_->note_committed(committer_.last_batch());
  if (!health_->lacks_projection()) health_->note_unprojected(clock_.monotonic_ns());
}

void Core::release_closed(std::size_t orders_max) {
  all_released_ = committer_.exchange().release_closed(projector_.projected_closed(), orders_max);
}

// Called between batches, when everything applied is committed: the tables never contain a change
// that the journal lacks.
void Core::offer_projection(std::size_t orders_max) {
  Exchange& exchange = committer_.exchange();
  if (!hand_over_) {
    if (exchange.changed_rows() == 0 || !projector_.idle()) return;
    const std::size_t portion = exchange.changed_rows() / 32;
    hand_over_ = HandOver{committer_.last_batch(), exchange.begin_hand_over(rows_), portion};
    events_shown_ = references_shown_ = 0;
    health_->note_offered();
  }
  if (!exchange.continue_hand_over(rows_, std::max(orders_max, hand_over_->portion))) return;
  projector_.offer(rows_, hand_over_->batch, hand_over_->closed);
  collected_before_ = exchange.changed_rows();
  hand_over_.reset();
}

// Applies back-pressure in small steps, the same for all clients. While the projector writes, the
// number of rows that may collect grows with its progress, so that clients slow down evenly, from
// the beginning of a projection, to the speed of the projector.
void Core::slow_down() {
  const std::size_t collected = committer_.exchange().changed_rows(),
                    max = limits_.unprojected_rows_max;
  if (collected > max / 2) projector_.hurry();
  const double begin = double(collected_before_ + max / 16), end = double(max / 8 * 7);
  const int waits_max = double(collected) < end ? 4 : 10;
  for (int waits = 0; waits < waits_max; ++waits) {
    const double progress = projector_.progress();
    if (double(collected) <= begin + progress * (end - begin)) return;
    if (waits == 0) Metrics::add(metrics_.slowed_batches);
    projector_.hurry();
    inbox_.wait_for(std::chrono::milliseconds(1),
                    [](const Inbox& inbox) { return inbox.projector_idle; });
  }
}

// The tables lag too far behind, so no batch starts until one projection has ended.
void Core::wait_for_projector() {
  Metrics::add(metrics_.lag_waits);
  // /readyz and the stall metrics count this wait as part of a batch
  health_->begin_batch(clock_.monotonic_ns());
  if (hand_over_) offer_projection(all);
  projector_.hurry();
  health_->begin_store_call();
  while (!projector_.idle())
    inbox_.when([](const Inbox& inbox) { return inbox.projector_idle; },
                [](Inbox& inbox) { inbox.projector_idle = false; });
  health_->end_store_call();
  beat();
  health_->end_batch();
  inbox_.with([](Inbox& inbox) { inbox.projector_idle = false; });  // set by an earlier one
}

void Core::project_rest() {
  while (hand_over_ || committer_.exchange().changed_rows() > 0) {
    wait_for_projector();
    offer_projection(all);
  }
}

}  // namespace exchange
