#include "simulation/simulated_timetable.hpp"

#include <algorithm>

#include "simulation/world.hpp"

namespace exchange::simulation {

TakenStep newest_step(const Timetable& timetable, std::string_view symbol, Timestamp now) {
  constexpr std::int64_t day_us = 86'400'000'000;
  TakenStep newest;
  for (const TimetableStep& step : timetable.steps) {
    const bool concerns =
        std::any_of(step.symbols.begin(), step.symbols.end(),
                    [&](const SymbolName& name) { return name.view() == symbol; });
    if (!step.symbols.empty() && !concerns) continue;
    const std::int64_t time_us = step.time.count() * 1'000'000;
    const Timestamp at{(now.microseconds - time_us) / day_us * day_us + time_us};
    if (newest.step == nullptr || at >= newest.at) newest = {&step, at};
  }
  return newest;
}

const Timetable& simulated_day() {
  static const Timetable day = read_timetable(TIMETABLE);
  return day;
}

void check_taken(const Rows& tables, Timestamp now) {
  for (const SymbolRow& symbol : tables.symbols) {
    const auto [step, at] = newest_step(simulated_day(), symbol.name.view(), now);
    const bool is_so = symbol.trading == trading_of(step->kind).back();
    if (symbol.trading_since < at && (step->kind == StepKind::uncross || !is_so))
      throw Violation("the timetable has not taken its step " + describe(*step) + " of " +
                      std::string(symbol.name.view()));
  }
}

SimulatedTimetable::SimulatedTimetable(World& world, ProcessRecord& record, Metrics& metrics,
                                       OnFatal on_fatal)
    : world_(world),
      record_(record),
      on_fatal_(std::move(on_fatal)),
      scheduler_(TIMETABLE, *this, metrics, on_fatal_) {}

void SimulatedTimetable::apply(std::span<const SymbolRow> rows) {
  scheduler_.apply(rows);
  for (const SymbolRow& row : rows) {
    Timestamp& since = known_[std::string(row.name.view())];
    since = std::max(since, row.trading_since);
  }
}

void SimulatedTimetable::start(Core& core) {
  core_ = &core;
  scheduler_.start(*this);
}

Timestamp SimulatedTimetable::now() {
  known_at_look_ = known_;
  return looked_at_ = world_.clock.now();
}

std::int64_t SimulatedTimetable::monotonic_ns() { return world_.clock.monotonic_ns(); }
void SimulatedTimetable::pause(std::uint32_t milliseconds) { world_.clock.pause(milliseconds); }

void SimulatedTimetable::submit(std::span<Submission* const> submissions) {
  given_ = submissions[0];
  commands_.assign(given_->commands.begin(), given_->commands.end());
  check(commands_);
  submission_.commands = commands_;
  submission_.outcomes.clear();
  submission_.sink = this;
  Submission* const one = &submission_;
  world_.scheduler.preempt();
  const Scheduler::Lock together;  // the record needs the core's order
  record_.submitted.push_back({Submitted::timetable, commands_, looked_at_});
  core_->submit({&one, 1});
}

// Returns whether a change of this time may be that of an earlier step which was committed only
// after the step due at `at`: a change counts from the time at which its step was due.
bool SimulatedTimetable::is_own(std::string_view symbol, Timestamp change, Timestamp at) const {
  const auto own = own_.find(symbol);
  return own != own_.end() && own->second.looked_at < at && own->second.looked_at <= change &&
         change <= own->second.completed_at;
}

void SimulatedTimetable::completed(std::span<Submission* const>) {
  if (world_.scheduler.dying()) return;
  for (const Command& command : commands_)
    own_[std::string(std::get<SetInstrument>(command).symbol->view())] = {looked_at_,
                                                                          world_.clock.now()};
  given_->outcomes = submission_.outcomes;
  given_->sink->completed({&given_, 1});
}

void SimulatedTimetable::check(std::span<const Command> commands) const {
  std::map<std::string_view, std::vector<Trading>> changes;
  for (const Command& command : commands) {
    const auto& set = std::get<SetInstrument>(command);
    changes[set.symbol->view()].push_back(*set.trading);
  }
  for (const auto& [symbol, trading] : changes) {
    const auto [step, at] = newest_step(simulated_day(), symbol, looked_at_);
    if (trading != trading_of(step->kind))
      throw Violation("the timetable takes another step than " + describe(*step));
    // The symbol may have been created since the timetable looked at the clock.
    const Changes& known_then = known_at_look_.contains(symbol) ? known_at_look_ : known_;
    const auto known = known_then.find(symbol);
    if (known == known_then.end() || (known->second >= at && !is_own(symbol, known->second, at)))
      throw Violation("the timetable undoes what was changed since its step " + describe(*step));
  }
}

}  // namespace exchange::simulation
