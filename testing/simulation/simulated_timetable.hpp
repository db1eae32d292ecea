#pragma once
// The scheduler of --timetable in a simulated server, with the day of timetable.txt. Each change
// that it submits must be that of the newest step, and must not undo a change that it knew to be
// newer. Owner: the main task of the process.

#include <map>
#include <string>
#include <string_view>

#include "core/core.hpp"
#include "timetable/scheduler.hpp"

namespace exchange::simulation {

class World;
struct ProcessRecord;

struct TakenStep {
  const TimetableStep* step = nullptr;
  Timestamp at{};
};
// Returns the newest step of the symbol up to `now`, in UTC; independent of
// server/timetable/schedule.cpp.
TakenStep newest_step(const Timetable& timetable, std::string_view symbol, Timestamp now);
// Returns the day of timetable.txt.
const Timetable& simulated_day();
// Throws Violation if a symbol in these tables lacks its newest step.
void check_taken(const Rows& tables, Timestamp now);

class SimulatedTimetable final : Clock, Service, CompletionSink {
 public:
  SimulatedTimetable(World& world, ProcessRecord& record, Metrics& metrics, OnFatal on_fatal);
  void apply(std::span<const SymbolRow> rows);
  void start(Core& core);
  void stop() { scheduler_.stop(); }

 private:
  Timestamp now() override;  // the scheduler reads the clock: what it submits next is due by then
  std::int64_t monotonic_ns() override;
  void pause(std::uint32_t milliseconds) override;
  void submit(std::span<Submission* const> submissions) override;
  void completed(std::span<Submission* const> submissions) override;
  void check(std::span<const Command> commands) const;
  bool is_own(std::string_view symbol, Timestamp change, Timestamp at) const;

  using Changes = std::map<std::string, Timestamp, std::less<>>;  // the newest of each symbol
  World& world_;
  ProcessRecord& record_;
  const OnFatal on_fatal_;
  Core* core_ = nullptr;
  Changes known_, known_at_look_;
  struct Own {
    Timestamp looked_at{}, completed_at{};
  };
  std::map<std::string, Own, std::less<>> own_;  // the newest submission for each symbol
  Timestamp looked_at_{};
  // The scheduler's submission. The core gets submission_ in its place: the core's thread may
  // outlive the scheduler's thread when the process dies.
  Submission* given_ = nullptr;
  std::vector<Command> commands_;
  Submission submission_;
  exchange::Scheduler scheduler_;
};

}  // namespace exchange::simulation
