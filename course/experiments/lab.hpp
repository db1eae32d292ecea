#pragma once
// The common parts of all experiments. An experiment registers measurements, which are repeated and
// interleaved; then it converts the results to tables, plots and checks. The runner (main.cpp)
// prints the checks and writes everything as JSON. Thread: the main thread; the measured code
// starts its own threads.

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "base/described.hpp"

namespace exchange::experiments {

struct Settings {
  // sizes and repetitions for a smoke test: all experiments in two minutes
  bool quick = false;
  unsigned repetitions = 5;  // of each measurement
  std::uint64_t seed = 1;    // for all random numbers; printed
  std::string binaries;      // the folder of this binary and of the child programs
};

// The results of one measurement, repeated several times.
struct Sample {
  std::vector<double> values;
  double median() const;
  double low() const;   // the least
  double high() const;  // the greatest
  double sum() const;
  double worst() const;  // the greatest distance from 0; 0 without values
};
Sample operator*(Sample sample, double factor);

// The results, by name of the measurement and of the counter. The counter "seconds" contains the
// real seconds of an iteration.
class Measurements {
 public:
  void add(const std::string& name, const std::string& counter, double value) {
    samples_[name][counter].values.push_back(value);
  }
  bool has(const std::string& name) const { return samples_.contains(name); }
  // Throws std::out_of_range, which names the missing entry.
  const Sample& get(const std::string& name, const std::string& counter = "seconds") const;
  // Returns the values of a counter in all measurements whose names begin with `prefix` and that
  // have it.
  Sample all(const std::string& prefix, const std::string& counter) const;

 private:
  std::map<std::string, std::map<std::string, Sample>> samples_;
};

// The counters of one measurement, as numbers and as text.
class Named {
 public:
  Named(const Measurements& measured, std::string name)
      : measured_(measured), name_(std::move(name)) {}
  const Sample& operator()(const std::string& counter = "seconds") const {
    return measured_.get(name_, counter);
  }
  double median(const std::string& counter) const { return (*this)(counter).median(); }
  std::string time(const std::string& counter = "seconds") const;         // with its spread
  std::string median_time(const std::string& counter = "seconds") const;  // without spread

 private:
  const Measurements& measured_;
  const std::string name_;
};

struct Table {
  std::string key, title;
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows = {};

  // Adds a column for each of xs, or a row with a cell for each, after the given cells.
  template <class Xs, class Text>
  void add_columns(const Xs& xs, Text text) {
    for (const auto& x : xs) columns.push_back(text(x));
  }
  template <class Xs, class Text>
  void add_row(std::vector<std::string> row, const Xs& xs, Text text) {
    for (const auto& x : xs) row.push_back(text(x));
    rows.push_back(std::move(row));
  }
};
BOOST_DESCRIBE_STRUCT(Table, (), (key, title, columns, rows))

struct Point {
  double x, median, low, high;
};
struct Series {
  std::string name;
  std::vector<Point> points = {};
};
BOOST_DESCRIBE_STRUCT(Series, (), (name, points))
struct Plot {
  std::string key, title, x, y;  // x, y: the labels of the axes, which are logarithmic
  std::vector<Series> series = {};
};
BOOST_DESCRIBE_STRUCT(Plot, (), (key, title, x, y, series))

// A property that must hold on every machine: no lost update, mutual exclusion, totals. Never a
// time.
struct Check {
  std::string what;
  bool holds;
  std::string seen;  // the figures that prove it
};
BOOST_DESCRIBE_STRUCT(Check, (), (what, holds, seen))

struct Report {
  std::deque<Table> tables;
  std::deque<Plot> plots;
  std::vector<Check> checks;
  std::vector<std::string> notes;  // the measurements that were not possible here, and why

  // The references stay valid.
  Table& add(Table table) { return tables.emplace_back(std::move(table)); }
  Plot& add(Plot plot) { return plots.emplace_back(std::move(plot)); }
  void check(std::string what, bool holds, std::string seen) {
    checks.push_back({std::move(what), holds, std::move(seen)});
  }
  // The check holds if `count`, shown before `seen`, is 0.
  void check_none(std::string what, double count, const std::string& seen);
};
BOOST_DESCRIBE_STRUCT(Report, (), (tables, plots, checks, notes))

struct Experiment {
  std::string name;   // on the command line: "locks"
  std::string title;  // the question; course/docs/experiments.md explains the method
  // registers measurements; their names begin with `name`/
  std::function<void(const Settings&)> prepare;
  std::function<void(const Settings&, const Measurements&, Report&)> report;
};

// Returns all experiments in the order of the page; each file adds its own at start-up with a
// global Add.
std::vector<Experiment>& experiments();
struct Add {
  Add(double place, Experiment experiment);
};

// Registers one measurement: `once` does the work one time and returns the seconds that count. It
// may set counters. `repetitions` replaces the usual number unless it is 0.
using Counters = std::map<std::string, double>;
void measure(const std::string& name, std::function<double(Counters&)> once,
             unsigned repetitions = 0);
// Runs the registered measurements, each as often as required, all in one random order; then the
// list is empty. On a terminal it shows the name of each.
Measurements run_measurements(const Settings& settings);

// Builds the name of a measurement from its parts: "locks/2cpu/mutex".
template <class... Parts>
std::string join_name(const std::string& first, const Parts&... parts) {
  std::ostringstream name;
  name << first;
  ((name << "/" << parts), ...);
  return name.str();
}

// Throws the error of errno, with `what`, if `done` is false.
void need(bool done, const std::string& what);

// Returns the seconds of a monotonic clock.
double now_s();

struct Run {
  double seconds = 0;
  double cpu_s = 0;  // of this process, user and system
};
// Measures from its construction to stop().
class Meter {
 public:
  Meter();
  Run stop() const;

 private:
  double cpu_before_s_, begin_s_;
};

// Runs `work(thread)` on this many threads, which begin together; measures from the beginning to
// the end of the last.
Run run_threads(unsigned threads, const std::function<void(unsigned thread)>& work);
// The same with preparation: each thread calls begin() when it is ready. After window_s (unless it
// is 0) sets `over` and calls at_end().
using Over = std::atomic<bool>;
Run run_window(unsigned threads, double window_s,
               const std::function<void(unsigned thread, const std::function<void()>& begin,
                                        const Over& over)>& work,
               const std::function<void()>& at_end = {});

// Makes the compiler compute the value here.
template <class Value>
inline void keep(const Value& value) {
  asm volatile("" : : "r,m"(value) : "memory");
}

// Returns the next pseudo-random number (xorshift); the state must not be 0.
inline std::uint64_t next_random(std::uint64_t& state) {
  state ^= state << 13;
  state ^= state >> 7;
  return state ^= state << 17;
}

// Work of a known length: a chain of multiplications that keeps one CPU busy and does not touch
// memory. It counts steps, not time, so a preempted thread has as much work left as before. Any
// thread.
class Work {
 public:
  explicit Work(double seconds);
  void operator()() const;

 private:
  long steps_ = 0;
};

// The result of a child process: its output (stdout and stderr) and how it ended; it is killed
// after the time limit.
struct ChildResult {
  int status = 0;  // as in a shell: 128 + signal
  std::string output;
};
ChildResult run_child(const std::vector<std::string>& command, unsigned seconds_max);

// CPUs that this process may use, and pinning of the calling thread to some of them.
std::vector<unsigned> usable_cpus();
void pin_thread(const std::vector<unsigned>& cpus);

// Formats numbers for tables: "12.3", "1,234", "145 ns", "3.2 ms".
std::string number(double value, int significant = 3);
std::string duration(double seconds);
// Returns "5.3 (5.1-5.9)", each scaled as in duration().
std::string duration(const Sample& seconds);
std::string count(const Sample& sample);
// Formats a share (0 to 1) as a percentage: "12.3 % (10.1-14.0)".
std::string percent(const Sample& share);
std::string threads_text(unsigned threads);  // "1 thread", "2 threads"

// Returns the type of the file system of the temporary folder: "ext4".
std::string temporary_file_system();

}  // namespace exchange::experiments
