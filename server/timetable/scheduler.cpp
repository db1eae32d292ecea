#include "timetable/scheduler.hpp"

#include <algorithm>
#include <boost/algorithm/string/join.hpp>
#include <chrono>
#include <ctime>
#include <map>
#include <set>

#include "base/log.hpp"

namespace exchange {
namespace {

// The longest time until a clock that was set, or a new symbol, is noticed.
constexpr std::chrono::microseconds look_interval = std::chrono::seconds(1);
// The limit of changes submitted together, so that orders need not wait long.
constexpr std::size_t changes_at_once_max = 4'000;

SymbolState state_of(const SymbolRow& row) { return {row.name, row.trading, row.trading_since}; }

// Logs one line for each step, and one for each change that was refused. `outcomes` are those of
// the commands of each change, in order.
void log(std::span<const DueChange> changes, std::span<const Outcome> outcomes) {
  constexpr std::size_t named_max = 5;
  std::map<std::string, std::vector<std::string>> symbols_of;  // by step
  for (const DueChange& change : changes) {
    const std::string step =
        change.step == nullptr ? "end of a volatility auction" : describe(*change.step);
    std::string symbol(change.name.view());
    for (const Trading trading : change.trading()) {
      if (const auto* uncrossed = std::get_if<Uncrossed>(&outcomes.front()))
        symbol += " (" + to_string(uncrossed->shares) + " at " + to_string(uncrossed->price) + ")";
      if (const auto* rejected = std::get_if<Rejected>(&outcomes.front()))
        log_error("timetable: {}: {} of {} was refused: {}", step, to_string(trading),
                  change.name.view(), sentence_of(*rejected));
      outcomes = outcomes.subspan(1);
    }
    symbols_of[step].push_back(symbol);
  }
  for (const auto& [step, symbols] : symbols_of) {
    const bool is_long = symbols.size() > named_max;
    log_info("timetable: {}: {}", step,
             is_long ? std::to_string(symbols.size()) + " symbols" : boost::join(symbols, ", "));
  }
}

std::string local_text(Timestamp time) {
  const std::time_t seconds = time.seconds();
  std::tm local{};
  ::localtime_r(&seconds, &local);
  char text[64];
  return {text, std::strftime(text, sizeof text, "%F %T %Z", &local)};
}

}  // namespace

Scheduler::Scheduler(std::string path, Clock& clock, Metrics& metrics, const OnFatal& on_fatal)
    : path_(std::move(path)),
      clock_(clock),
      metrics_(metrics),
      on_fatal_(on_fatal),
      state_(State{std::make_shared<const Timetable>(read_timetable(path_)), {}}) {}

// Ignores rows of the tables that are older than what turn() has submitted since.
void Scheduler::apply(std::span<const SymbolRow> rows) {
  if (rows.empty()) return;
  state_.with([&](State& state) {
    for (const SymbolRow& row : rows) {
      if (row.number >= state.symbols.size()) state.symbols.resize(row.number + 1);
      SymbolState& symbol = state.symbols[row.number];
      const SymbolState now = state_of(row);
      if (now == symbol || now.since < symbol.since) continue;
      symbol = now;
      state.changed = true;
    }
  });
}

void Scheduler::start(Service& core) {
  show();
  thread_ = start_thread("timetable", on_fatal_, [this, &core] { run(core); });
}

void Scheduler::reload() {
  const auto timetable = std::make_shared<const Timetable>(read_timetable(path_));
  state_.with([&](State& state) {
    state.timetable = timetable;
    state.changed = true;
  });
  if (thread_.joinable()) show();
}

void Scheduler::stop() {
  state_.with([](State& state) { state.stopping = true; });
  state_.notify();
  if (thread_.joinable()) thread_.join();
}

void Scheduler::show() {
  std::set<std::string_view> unknown;
  const SharedTimetable timetable = state_.with([&](const State& state) {
    for (const TimetableStep& step : state.timetable->steps)
      for (const SymbolName& name : step.symbols) unknown.insert(name.view());
    for (const SymbolState& symbol : state.symbols) unknown.erase(symbol.name.view());
    return state.timetable;
  });
  const Timestamp next = due(*timetable, {}, clock_.now()).next;
  log_info("timetable {}: {}", path_,
           timetable->steps.empty() ? "no steps" : "the next step is at " + local_text(next));
  for (const std::string_view name : unknown)
    log_info("timetable {}: there is no symbol {} yet", path_, name);
}

void Scheduler::run(Service& core) {
  const auto is_stopping = [](const State& state) { return state.stopping; };
  for (std::chrono::microseconds pause{0}; !state_.wait_for(pause, is_stopping);) {
    const std::int64_t left = turn(core).microseconds - clock_.now().microseconds;
    pause =
        std::clamp(std::chrono::microseconds(left), std::chrono::microseconds(0), look_interval);
  }
}

Timestamp Scheduler::turn(Service& core) {
  while (true) {
    const Timestamp now = clock_.now();
    const bool is_new_time = now < looked_at_ || now >= next_;
    SharedTimetable timetable;  // DueChange::step is a part of it
    std::vector<DueChange> changes;
    state_.with([&](State& state) {
      if (state.stopping || (!std::exchange(state.changed, false) && !is_new_time)) return;
      timetable = state.timetable;
      Due found = due(*timetable, state.symbols, now);
      changes = std::move(found.changes);
      next_ = found.next;
      looked_at_ = now;
    });
    if (changes.empty()) return next_;
    submit(std::span(changes).first(std::min(changes.size(), changes_at_once_max)), core);
  }
}

void Scheduler::submit(std::span<const DueChange> changes, Service& core) {
  std::vector<Command> commands;
  for (const DueChange& change : changes)
    for (const Trading trading : change.trading())
      commands.push_back(SetInstrument{.symbol = change.name, .trading = trading});
  Submission submission;
  submission.commands = commands;
  submission.sink = this;
  Submission* const one = &submission;
  core.submit({&one, 1});
  state_.when([](const State& state) { return state.completed; },
              [&](State& state) {
                state.completed = false;
                for (const DueChange& change : changes) note(change, state);
              });
  Metrics::add(metrics_.timetable_changes, changes.size());
  log(changes, submission.outcomes);
}

// Records the change at the time when it was due, even if it was committed later, so that steps
// that became due meanwhile still happen. If another command has changed the symbol since, that
// command counts.
void Scheduler::note(const DueChange& change, State& state) {
  state.changed = true;
  SymbolState& symbol = state.symbols[change.symbol];
  const Trading trading = change.trading().back();
  if (symbol.since < change.at || symbol.trading == trading)
    symbol = {change.name, trading, change.at};
}

void Scheduler::completed(std::span<Submission* const>) {
  state_.with([](State& state) { state.completed = true; });
  state_.notify();
}

}  // namespace exchange
