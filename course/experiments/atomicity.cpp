// 1. Which counters lose updates, and how many?

#include <atomic>
#include <cstdio>
#include <regex>
#include <sstream>
#include <stdexcept>

#include "course/experiments/lab.hpp"

namespace exchange::experiments {
namespace {

constexpr unsigned tasks = 50;
constexpr long asked = 1'000;  // increments of each task

struct Sizes {
  int runs;                      // of the plain counter, as in the task
  int longer_runs;               // of the plain counter with more increments
  std::vector<long> increments;  // of each task: the more there are, the more tasks overlap
  long increments_in_all;        // of a task alone, and of all on an atomic counter
};
Sizes sizes(const Settings& settings) {
  if (settings.quick) return {20, 5, {asked, 10'000, 100'000}, 500'000};
  return {200, 40, {asked, 10'000, 100'000, 1'000'000}, 10'000'000};
}

double increment_plainly(const Settings& settings, unsigned threads, long increments,
                         Counters& counters) {
  const ChildResult child = run_child(
      {settings.binaries + "/racy_counter", std::to_string(threads), std::to_string(increments)},
      60);
  long count = 0;
  double seconds = 0;
  if (child.status != 0 || std::sscanf(child.output.c_str(), "%ld %lf", &count, &seconds) != 2)
    throw std::runtime_error("racy_counter ended with status " + std::to_string(child.status) +
                             ": " + child.output);
  const auto in_all = double(threads * increments);
  counters["share"] = (in_all - double(count)) / in_all;
  counters["lost_any"] = in_all != double(count);
  counters["each"] = seconds / in_all;
  return seconds;
}

double increment_atomically(std::memory_order order, long increments, Counters& counters) {
  std::atomic<long> counter{0};
  const Run run = run_threads(tasks, [&](unsigned) {
    for (long i = 0; i < increments; ++i) counter.fetch_add(1, order);
  });
  counters["lost"] = double(tasks * increments - counter);
  return run.seconds;
}

std::string run_name(unsigned threads, long increments) {
  return join_name("atomicity/plain", threads, increments);
}

void prepare(const Settings& settings) {
  const Sizes s = sizes(settings);
  const auto add_plain = [&](unsigned threads, long increments, int repetitions = 0) {
    measure(
        run_name(threads, increments),
        [=](Counters& counters) {
          return increment_plainly(settings, threads, increments, counters);
        },
        unsigned(repetitions));
  };
  for (const long increments : s.increments)
    add_plain(tasks, increments, increments == asked ? s.runs : s.longer_runs);
  add_plain(1, s.increments_in_all);
  for (const auto& [name, order] :
       {std::pair{"ordered", std::memory_order_seq_cst}, {"relaxed", std::memory_order_relaxed}})
    measure(join_name("atomicity/atomic", name),
            [order = order, increments = s.increments_in_all / tasks](Counters& counters) {
              return increment_atomically(order, increments, counters);
            });
}

// ThreadSanitizer names both accesses; if it cannot run here, there is a note instead.
void check_race(const Settings& settings, Report& out) {
  const std::vector<std::string> command{settings.binaries + "/racy_counter_tsan", "2", "1000"};
  ChildResult child = run_child(command, 60);
  // Older versions of the sanitizer do not work with kernels that scatter mappings widely.
  if (child.output.find("FATAL: ThreadSanitizer") != std::string::npos) {
    std::vector<std::string> in_order{"setarch", "-R"};
    in_order.insert(in_order.end(), command.begin(), command.end());
    const ChildResult again = run_child(in_order, 60);
    if (again.output.find("WARNING: ThreadSanitizer") == std::string::npos) {
      out.notes.push_back("ThreadSanitizer cannot run here: " +
                          child.output.substr(0, child.output.find('\n')));
      return;
    }
    child = again;
  }
  static const std::regex access(
      R"( *((Previous )?(read|write) of size \d+) at 0x[0-9a-f]+ (by .*):)", std::regex::icase);
  std::vector<std::string> accesses;  // "Write of size 8 by thread T1"
  std::istringstream lines(child.output);
  for (std::string line; std::getline(lines, line) && accesses.size() < 2;)
    if (std::smatch match; std::regex_match(line, match, access))
      accesses.push_back(match[1].str() + " " + match[4].str());
  out.check("ThreadSanitizer names both accesses of the race", accesses.size() == 2,
            accesses.size() == 2 ? accesses[0] + "; " + accesses[1] : "it found none");
}

void report(const Settings& settings, const Measurements& measured, Report& out) {
  const Sizes s = sizes(settings);
  const double alone_s = measured.get(run_name(1, s.increments_in_all), "each").median();
  // The longer each task runs, the more of them run at once.
  Table& table = out.add(Table{"overlap",
                               "The plain counter, 50 tasks, by the length of a task",
                               {"increments of a task", "runs", "runs that lost",
                                "lost, median (least-greatest)", "a task alone takes"}});
  for (const long increments : s.increments) {
    const Named found(measured, run_name(tasks, increments));
    table.rows.push_back({number(double(increments)), std::to_string(found("share").values.size()),
                          number(found("lost_any").sum()), percent(found("share")),
                          duration(alone_s * double(increments))});
  }
  out.check_none("std::atomic, relaxed or not, loses nothing",
                 measured.all("atomicity/atomic/", "lost").worst(), "lost in any run");
  check_race(settings, out);
}

const Add add(1,
              {"atomicity", "1. Atomicity: who loses an update, and how many?", prepare, report});

}  // namespace
}  // namespace exchange::experiments
