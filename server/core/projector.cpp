#include "core/projector.hpp"

#include <algorithm>
#include <chrono>

#include "base/fail_point.hpp"
#include "base/log.hpp"

namespace exchange {
namespace {

// Projections with much work take this number of intervals: fewer projections, with fewer rows in
// all.
constexpr double spread_intervals = 2.5;

}  // namespace

Projector::Projector(Tables& tables, Journal& journal, Clock& clock, const CoreLimits& limits,
                     Metrics& metrics, Health& health, OnProjected on_projected,
                     std::function<void()> on_idle, OnFatal on_fatal)
    : tables_(tables),
      journal_(journal),
      clock_(clock),
      limits_(limits),
      metrics_(metrics),
      health_(health),
      on_projected_(std::move(on_projected)),
      on_idle_(std::move(on_idle)),
      on_fatal_(std::move(on_fatal)) {
  thread_ = start_thread(
      "projector", on_fatal_, [this] { run(); }, Priority::low);
}

Projector::~Projector() {
  slot_.with([](Slot& slot) { slot.stopping = true; });
  slot_.notify();
  bursts_.hurry();
  thread_.join();
}

bool Projector::idle() {
  return slot_.with([](Slot& slot) { return !slot.offered && !slot.busy; });
}

void Projector::offer(Rows& rows, BatchNumber batch, ClosedMark closed) {
  slot_.with([&](Slot& slot) {
    ENSURE(!slot.offered && !slot.busy);
    slot.offered = true;
    std::swap(slot.rows, rows);
    slot.batch = batch;
    slot.closed = closed;
    slot.size = slot.rows.size();
    slot.awaited = false;
  });
  slot_.notify();
}

ClosedMark Projector::projected_closed() {
  return slot_.with([](Slot& slot) { return slot.projected_closed; });
}

double Projector::progress() {
  return slot_.with([&](const Slot& slot) {
    if (!slot.offered && (!slot.busy || slot.written)) return 1.0;
    const std::chrono::nanoseconds expected = std::int64_t(slot.size) * slot.per_row;
    const std::chrono::nanoseconds used =
        tables_.writes_elsewhere() ? bursts_.taken() : bursts_.used();
    return used >= expected ? 1.0 : double(used.count()) / double(expected.count());
  });
}

void Projector::hurry() {
  const bool hurried = slot_.with([](Slot& slot) { return std::exchange(slot.hurry, true); });
  bursts_.hurry();
  if (!hurried) slot_.notify();
}

void Projector::await_rows() {
  const bool noted = slot_.with([](Slot& slot) { return std::exchange(slot.awaited, true); });
  if (!noted) slot_.notify();
}

void Projector::run() {
  Rows rows;
  while (true) {
    BatchNumber batch = 0;
    const bool work = slot_.when([](const Slot& slot) { return slot.offered || slot.stopping; },
                                 [&](Slot& slot) {
                                   if (!slot.offered) return false;
                                   slot.offered = false;
                                   slot.busy = true;
                                   std::swap(rows, slot.rows);
                                   batch = slot.batch;
                                   return true;
                                 });
    if (!work) return;
    take_turn(rows, batch);
    slot_.with([&](Slot& slot) {
      slot.busy = slot.hurry = slot.written = false;
      slot.projected_closed = slot.closed;
    });
    on_idle_();
  }
}

void Projector::take_turn(const Rows& rows, BatchNumber batch) {
  const std::chrono::milliseconds interval(limits_.projection_interval_ms),
      soon(limits_.awaited_interval_ms);
  const std::chrono::nanoseconds began = now();
  {
    const Bursts::Work work(
        bursts_, std::chrono::duration_cast<std::chrono::nanoseconds>(interval * spread_intervals));
    project(rows, batch);
    prune(batch);
  }
  slot_.with([&](Slot& slot) {
    slot.written = true;
    constexpr std::size_t rows_least = 10'000;  // below, the commit takes most of the time
    if (slot.size >= rows_least)
      slot.per_row = std::max<std::chrono::nanoseconds>(
          (tables_.writes_elsewhere() ? bursts_.last_taken() : bursts_.last_work()) /
              std::int64_t(slot.size),
          std::chrono::nanoseconds(1));
  });
  const std::chrono::nanoseconds taken = now() - began;
  const std::chrono::nanoseconds pause = interval - taken;
  // Readers end the pause, but not before it has lasted as long as the projection: rows that change
  // often are written less often.
  const auto least = std::min(pause, std::max<std::chrono::nanoseconds>(soon - taken, taken));
  const auto ended = [](const Slot& slot) { return slot.hurry || slot.stopping; };
  slot_.wait_for(least, ended);
  slot_.wait_for(pause - least, [&](const Slot& slot) { return slot.awaited || ended(slot); });
}

void Projector::project(const Rows& rows, BatchNumber batch) {
  for (OutageReasons reasons;;) {
    try {
      fail_point<StoreUnavailable>("projection.before");
      tables_.project(rows, batch);
      break;
    } catch (const StoreUnavailable& error) {  // a projection is idempotent
      Metrics::add(metrics_.store_failures);
      if (reasons.is_new(error.what()))
        log_error("projection of batch {} failed, trying again: {}", batch, error.what());
      clock_.pause(limits_.store_retry_ms);
    }
  }
  journal_.prepare();
  Metrics::set(metrics_.projected_batch, batch);
  health_.note_projected(batch);
  if (on_projected_) on_projected_(rows, batch);
}

void Projector::prune(BatchNumber batch) {
  if (limits_.keep_journal || batch < limits_.journal_batches_kept) return;
  // The row of the tables' newest batch stays: recovery compares the two.
  const BatchNumber through = batch - std::max<BatchNumber>(limits_.journal_batches_kept, 1);
  if (through < pruned_ + limits_.journal_prune_step) return;
  try {
    fail_point<StoreUnavailable>("prune.before");
    journal_.prune(std::min(through, tables_.secure()));
    fail_point<StoreUnavailable>("prune.after");
    pruned_ = through;
  } catch (const StoreUnavailable& error) {  // the next pruning deletes them
    log_warning("pruning the journal failed: {}", error.what());
  }
}

}  // namespace exchange
