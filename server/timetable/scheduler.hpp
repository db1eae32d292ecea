#pragma once
// Scheduler follows the file of --timetable (docs/trading-days.md). It submits each change of
// trading that is due to the core, as a command of the journal like any other, and waits until it
// is committed. Its own thread looks at the clock once a second, and when a step is due. It knows
// the trading of each symbol from load(), and later from the tables.
// Owner: Server. Thread: that of main, except where noted.

#include <memory>
#include <string>
#include <vector>

#include "base/guarded.hpp"
#include "base/thread.hpp"
#include "core/clock.hpp"
#include "core/service.hpp"
#include "engine/rows.hpp"
#include "metrics/metrics.hpp"
#include "timetable/schedule.hpp"

namespace exchange {

class Scheduler final : CompletionSink {
 public:
  // Reads the file. Throws the same as read_timetable(). All references must outlive the scheduler.
  Scheduler(std::string path, Clock& clock, Metrics& metrics, const OnFatal& on_fatal);
  ~Scheduler() { stop(); }
  Scheduler(const Scheduler&) = delete;

  // Takes rows of symbols: before start() one row for each symbol, later those that changed. Later
  // calls come on the projector's thread.
  void apply(std::span<const SymbolRow> rows);
  // Begins to submit to `core`, which must have the symbols as apply() received them, and must
  // outlive stop().
  void start(Service& core);
  // Reads the file again. Throws the same as read_timetable(); then nothing changes.
  void reload();
  // Stops submitting, and waits until everything that was submitted is committed. Further calls do
  // nothing.
  void stop();

  // Submits what is due, and waits until it is committed. Returns when to call it again. The
  // scheduler's thread calls it; tests call it instead of start().
  Timestamp turn(Service& core);

 private:
  using SharedTimetable = std::shared_ptr<const Timetable>;
  struct State {
    SharedTimetable timetable;
    std::vector<SymbolState> symbols;  // by number
    bool changed = true;               // timetable or symbols, since due() was called
    bool completed = false;            // the submission of submit()
    bool stopping = false;
  };

  void run(Service& core);
  void submit(std::span<const DueChange> changes, Service& core);
  static void note(const DueChange& change, State& state);
  void show();                                            // in the log
  void completed(std::span<Submission* const>) override;  // core thread

  const std::string path_;
  Clock& clock_;
  Metrics& metrics_;
  const OnFatal& on_fatal_;
  Guarded<State> state_;
  // Between these times due() returned nothing but what turn() has submitted. Thread: that of
  // turn().
  Timestamp looked_at_, next_;
  Thread thread_;
};

}  // namespace exchange
