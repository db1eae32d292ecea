#include "timetable/scheduler.hpp"

#include <fstream>
#include <functional>

#include "catch.hpp"
#include "support/clocks.hpp"
#include "support/folder.hpp"

using namespace exchange;
using namespace exchange::testing;

namespace {

// Commits immediately, after the events that the test causes before.
struct FakeCore final : Service {
  void submit(std::span<Submission* const> given) override {
    for (Submission* submission : given) {
      std::vector<std::string> changes;
      for (const Command& command : submission->commands) {
        const auto& set = std::get<SetInstrument>(command);
        changes.push_back(std::string(set.symbol->view()) + " " +
                          std::string(to_string(*set.trading)));
      }
      submissions.push_back(changes);
      before_commit();
      submission->outcomes.assign(submission->commands.size(), outcome);
      submission->sink->completed({&submission, 1});
    }
  }
  std::vector<std::vector<std::string>> take() { return std::exchange(submissions, {}); }

  std::function<void()> before_commit = [] {};
  Outcome outcome = Created{};
  std::vector<std::vector<std::string>> submissions;
};
using Submissions = std::vector<std::vector<std::string>>;

// Returns a time of the first day of 1970, in UTC.
Timestamp at(int hour, int minute, int second = 0) {
  return {(hour * 3'600 + minute * 60 + second) * std::int64_t(1'000'000)};
}

SymbolRow row(SymbolNumber number, const char* name, Trading trading, Timestamp since) {
  SymbolRow row{.number = number, .name = SymbolName(name)};
  row.trading = trading;
  row.trading_since = since;
  return row;
}

struct Fixture {
  explicit Fixture(const std::string& timetable =
                       "10:00 open\n10:40 auction\n10:45 open\n17:30 auction\n17:35 close\n") {
    ::setenv("TZ", "UTC0", 1);
    write(timetable);
    scheduler = std::make_unique<Scheduler>(path, clock, metrics, on_fatal);
  }
  void write(const std::string& text) { std::ofstream(path) << text; }
  void apply(const std::vector<SymbolRow>& rows) { scheduler->apply(rows); }
  // Returns what the scheduler submits at this time.
  Submissions turn(Timestamp now) {
    clock.time_us = now.microseconds;
    next = scheduler->turn(core);
    return core.take();
  }

  TemporaryFolder folder;
  const std::string path = folder / "day.txt";
  ManualClock clock;
  Metrics metrics;
  const OnFatal on_fatal = [](const std::string& why) { FAIL(why); };
  FakeCore core;
  std::unique_ptr<Scheduler> scheduler;
  Timestamp next;
};

}  // namespace

TEST_CASE_METHOD(Fixture, "a day: each step is submitted once, a close as open and halted") {
  apply({row(0, "A", Trading::halted, {}), row(1, "B", Trading::open, {})});
  CHECK(turn(at(10, 0)) == Submissions{{"A open"}});
  CHECK(next == at(10, 40));
  CHECK(turn(at(10, 0)) == Submissions());
  CHECK(turn(at(10, 39, 59)) == Submissions());
  CHECK(turn(at(10, 40)) == Submissions{{"A auction", "B auction"}});
  CHECK(turn(at(10, 45)) == Submissions{{"A open", "B open"}});
  CHECK(turn(at(17, 34)) == Submissions{{"A auction", "B auction"}});
  CHECK(turn(at(17, 35)) == Submissions{{"A open", "A halted", "B open", "B halted"}});
  CHECK(turn(at(23, 59)) == Submissions());
  CHECK(metrics.timetable_changes == 9);
}

TEST_CASE_METHOD(Fixture, "rows of the tables confirm a step, and older ones do not repeat it") {
  apply({row(0, "A", Trading::halted, at(9, 0))});
  CHECK(turn(at(10, 0)) == Submissions{{"A open"}});
  apply({row(0, "A", Trading::halted, at(9, 59))});
  CHECK(turn(at(10, 0, 1)) == Submissions());
  apply({row(0, "A", Trading::open, at(10, 0))});
  CHECK(turn(at(10, 0, 2)) == Submissions());
}

TEST_CASE_METHOD(Fixture, "what an operator changes after a step stays until the next one") {
  apply({row(0, "A", Trading::open, at(10, 0))});
  apply({row(0, "A", Trading::halted, at(10, 20))});
  CHECK(turn(at(10, 30)) == Submissions());
  CHECK(turn(at(10, 40)) == Submissions{{"A auction"}});
}

TEST_CASE_METHOD(Fixture, "a symbol that is new trades as the timetable says") {
  CHECK(turn(at(10, 41)) == Submissions());
  apply({row(0, "A", Trading::open, {})});
  CHECK(turn(at(10, 41, 1)) == Submissions{{"A auction"}});
}

TEST_CASE_METHOD(Fixture, "a step that becomes due while the store is unavailable follows") {
  apply({row(0, "A", Trading::open, at(10, 0)), row(1, "B", Trading::open, at(10, 0))});
  core.before_commit = [&] {
    clock.time_us = at(10, 50).microseconds;
    apply({row(0, "A", Trading::auction, at(10, 50)), row(1, "B", Trading::halted, at(10, 50))});
    core.before_commit = [] {};
  };
  // B: an operator changes it after the step
  CHECK(turn(at(10, 40)) == Submissions{{"A auction", "B auction"}, {"A open"}});
}

TEST_CASE_METHOD(Fixture, "a refused step is not repeated") {
  apply({row(0, "A", Trading::halted, {})});
  core.outcome = Rejected{Reason::unknown_symbol};
  CHECK(turn(at(10, 0)).size() == 1);
  CHECK(turn(at(10, 1)) == Submissions());
}

TEST_CASE_METHOD(Fixture, "a clock that is set back repeats no step, one set forward skips some") {
  apply({row(0, "A", Trading::auction, at(9, 0))});
  CHECK(turn(at(10, 0)) == Submissions{{"A open"}});
  CHECK(turn(at(9, 59)) == Submissions());
  CHECK(turn(at(10, 0)) == Submissions());
  CHECK(turn(at(17, 32)) == Submissions{{"A auction"}});
}

TEST_CASE_METHOD(Fixture, "a file that is read again counts at once, a bad one not at all") {
  apply({row(0, "A", Trading::halted, at(10, 0))});
  CHECK(turn(at(10, 30)) == Submissions());
  write("10:20\n");
  CHECK_THROWS_WITH(scheduler->reload(), contains_text(path + ":1: expected"));
  CHECK(turn(at(10, 30)) == Submissions());
  write("10:20 open\n");
  scheduler->reload();
  CHECK(turn(at(10, 30)) == Submissions{{"A open"}});
  CHECK(next.microseconds == at(10, 20).microseconds + 86'400'000'000);
}

TEST_CASE("a volatility auction ends after its time, and may begin again") {
  Fixture test("volatility 60\n10:00 open\n");
  SymbolRow symbol = row(0, "A", Trading::volatility, at(11, 0));
  test.apply({symbol});
  CHECK(test.turn(at(11, 0, 59)) == Submissions());
  CHECK(test.next == at(11, 1));
  CHECK(test.turn(at(11, 1)) == Submissions{{"A open"}});
  CHECK(test.turn(at(11, 1, 30)) == Submissions());
  symbol.trading_since = at(11, 2);
  test.apply({symbol});
  CHECK(test.turn(at(11, 3)) == Submissions{{"A open"}});
}

TEST_CASE_METHOD(Fixture, "its thread takes the steps, and stops") {
  clock.time_us = at(10, 0).microseconds;
  apply({row(0, "A", Trading::halted, {})});
  Guarded<bool> submitted;
  core.before_commit = [&] {
    submitted.with([](bool& data) { data = true; });
    submitted.notify();
  };
  scheduler->start(core);
  submitted.when([](bool data) { return data; }, [](bool) {});
  scheduler->stop();
  CHECK(core.take() == Submissions{{"A open"}});
}
