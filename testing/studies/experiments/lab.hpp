#pragma once
// What every experiment is made of. An experiment registers measurements with Google Benchmark,
// which repeats and interleaves them; then it turns what was measured into tables, plots and
// checks. The runner (main.cpp) prints them and writes JSON. Thread: the main thread; what is
// measured starts threads of its own.

#include <benchmark/benchmark.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace exchange::experiments {

struct Settings {
  // sizes and repetitions for a smoke run: all experiments in two minutes
  bool quick = false;
  unsigned repetitions = 5;  // of each measurement
  std::uint64_t seed = 1;    // of everything drawn at random; printed
  std::string binaries;      // the folder of this binary and of the child programs
};

// The same thing measured several times.
struct Sample {
  std::vector<double> values;
  double median() const;
  double low() const;   // the least
  double high() const;  // the greatest
};

// What was measured, by name of the measurement and of the counter. Real seconds of an iteration
// are the counter "seconds".
class Measurements {
 public:
  void add(const std::string& name, const std::string& counter, double value) {
    samples_[name][counter].values.push_back(value);
  }
  bool has(const std::string& name) const { return samples_.contains(name); }
  // Throws std::out_of_range that names what is missing.
  const Sample& of(const std::string& name, const std::string& counter = "seconds") const;

 private:
  std::map<std::string, std::map<std::string, Sample>> samples_;
};

struct Table {
  std::string key, title;
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
};

struct Point {
  double x, median, low, high;
};
struct Series {
  std::string name;
  std::vector<Point> points;
};
struct Plot {
  std::string key, title, x_name, y_name;
  bool log_x = false, log_y = false;
  std::vector<Series> series;
};

// Something that must hold whatever the machine: no lost update, mutual exclusion, totals. Never a
// time.
struct Check {
  std::string what;
  bool holds;
  std::string seen;  // the figures behind it
};

// A few lines of what a program said, shown as they are.
struct Excerpt {
  std::string key, title, text;
};

struct Report {
  std::vector<Table> tables;
  std::vector<Plot> plots;
  std::vector<Check> checks;
  std::vector<std::string> notes;  // what could not be measured here, and why
  std::vector<Excerpt> excerpts;

  void check(std::string what, bool holds, std::string seen) {
    checks.push_back({std::move(what), holds, std::move(seen)});
  }
};

struct Experiment {
  std::string name;  // on the command line: "locks"
  std::string title;
  std::string asked;     // the question, as somebody would ask it
  std::string measured;  // how it is answered
  // registers measurements; their names begin with `name`/
  std::function<void(const Settings&)> prepare;
  std::function<void(const Settings&, const Measurements&, Report&)> report;
};

// All experiments in the order of the page; each file adds its own at start-up with a global of
// this kind.
std::vector<Experiment>& experiments();
struct Add {
  Add(double place, Experiment experiment);
};

// Registers one measurement: `once` does the work one time and returns the seconds that count. It
// may set counters.
using Counters = benchmark::UserCounters;
void measure(const std::string& name, std::function<double(Counters&)> once);

// Seconds of a clock that is never set.
double now_s();
// Runs `work(thread)` on so many threads, which begin together; returns the seconds from the
// beginning to the end of the last.
double run_threads(unsigned threads, const std::function<void(unsigned thread)>& work);
// CPU seconds of this process so far.
struct CpuTime {
  double user_s, system_s;
};
CpuTime cpu_time();

// A child process: what it wrote (stdout and stderr), and how it ended; killed after the time.
struct ChildResult {
  int status = 0;  // as a shell tells it: 128 + signal
  bool timed_out = false;
  std::string output;
};
ChildResult run_child(const std::vector<std::string>& command, double seconds_max);

// CPUs that this process may use, and pinning of the calling thread to some of them.
std::vector<unsigned> usable_cpus();
void pin_thread(const std::vector<unsigned>& cpus);

// Numbers for tables: "12.3", "1,234", "145 ns", "3.2 ms".
std::string number(double value, int significant = 3);
std::string duration(double seconds);
// "5.3 (5.1-5.9)", each scaled as duration().
std::string duration(const Sample& seconds);
std::string count(const Sample& sample);
// Percent of a share (0 to 1): "12.3 % (10.1-14.0)".
std::string percent(const Sample& share);
Point point(double x, const Sample& sample);

// What ThreadSanitizer said about the first race of a program: both accesses, each with its first
// frames, without addresses. `accesses` are the two headings ("Write of size 8 by thread T1");
// empty where it found no race.
struct RaceReport {
  std::vector<std::string> accesses;
  std::string excerpt;
  std::string output;   // all that the program wrote
  std::string refused;  // why the sanitizer could not run here, else empty
};
RaceReport race_report(const std::vector<std::string>& command, std::size_t frames_max = 1);

// As measure(), but so many times however often the others are repeated: for what takes long.
void measure_times(unsigned repetitions, const std::string& name,
                   std::function<double(Counters&)> once);

}  // namespace exchange::experiments
