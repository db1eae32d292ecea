#pragma once
// Scheduler follows the file of --timetable (docs/trading-days.md): it submits each change of
// trading that is due to the core, as a command of the journal like any other, and waits until it
// is committed. Its own thread looks at the clock once a second, and when a step is due. It knows
// how the symbols trade as load() had them, and as the tables have them since.
// Owner: Server. Thread: that of main, but where noted.

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
  // Reads the file. Throws as read_timetable(). All references must outlive it.
  Scheduler(std::string path, Clock& clock, Metrics& metrics, const OnFatal& on_fatal);
  ~Scheduler() { stop(); }
  Scheduler(const Scheduler&) = delete;

  // Rows of all symbols, one for each, before start(); later those that changed, on the projector's
  // thread.
  void apply(std::span<const SymbolRow> rows);
  // From now on submits to `core`, which begins with the symbols as apply() had them, and must
  // outlive stop().
  void start(Service& core);
  // Reads the file again. Throws as read_timetable(), and then nothing changes.
  void reload();
  // Submits nothing more, and waits until what was submitted is committed. Further calls do
  // nothing.
  void stop();

  // Submits what is due, if anything can be, and waits until it is committed. Returns when to call
  // it again. The thread's; tests call it instead of start().
  Timestamp turn(Service& core);

 private:
  using SharedTimetable = std::shared_ptr<const Timetable>;
  struct State {
    SharedTimetable timetable;
    std::vector<SymbolState> symbols;  // by number
    bool changed = true;               // one of both, since due() was called
    bool completed = false;            // what was submitted
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
  // In between, due() returned nothing but what turn() has submitted. Thread: that of turn().
  Timestamp looked_at_, next_;
  Thread thread_;
};

}  // namespace exchange
