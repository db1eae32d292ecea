// 1. Which counters lose updates, and what is the cost of keeping them?

#include <atomic>
#include <cstdio>
#include <sstream>
#include <stdexcept>

#include "course/experiments/lab.hpp"

namespace exchange::experiments {
namespace {

constexpr unsigned tasks = 50;
constexpr long asked = 1'000;  // increments of each task
// the remaining counts of 50,000 in the write-ups
constexpr long there[] = {33'408, 29'972, 26'164, 48'302};

struct Sizes {
  int runs;                      // of the plain counter, as in the task
  int longer_runs;               // of the plain counter with more increments
  std::vector<long> increments;  // of each task: the more there are, the more tasks overlap
  long increments_in_all;        // total, for the cost of one increment
};
Sizes sizes(const Settings& settings) {
  if (settings.quick) return {20, 5, {asked, 10'000, 100'000}, 500'000};
  return {200, 40, {asked, 10'000, 100'000, 1'000'000}, 10'000'000};
}

struct alignas(64) Shard {
  long count = 0;
};

struct Counted {
  long count;
  double seconds;
};

Counted atomic_increments(std::memory_order order, unsigned threads, long increments) {
  std::atomic<long> counter{0};
  const Run run = run_threads(threads, [&](unsigned) {
    for (long i = 0; i < increments; ++i) counter.fetch_add(1, order);
  });
  return {counter, run.seconds};
}

Counted sharded_increments(unsigned threads, long increments) {
  std::vector<Shard> shards(threads);
  const Run run = run_threads(threads, [&](unsigned thread) {
    for (long i = 0; i < increments; ++i) {
      ++shards[thread].count;
      clobber_memory();
    }
  });
  long count = 0;
  for (const Shard& shard : shards) count += shard.count;
  return {count, run.seconds};
}

Counted plain_increments(const Settings& settings, unsigned threads, long increments) {
  const ChildResult child = run_child(
      {settings.binaries + "/racy_counter", std::to_string(threads), std::to_string(increments)},
      60);
  Counted counted{};
  if (child.status != 0 ||
      std::sscanf(child.output.c_str(), "%ld %lf", &counted.count, &counted.seconds) != 2)
    throw std::runtime_error("racy_counter ended with status " + std::to_string(child.status) +
                             ": " + child.output);
  return counted;
}

struct Variant {
  std::string name, label;
  bool guarded;
  std::function<Counted(unsigned threads, long increments)> run;
};
std::vector<Variant> variants(const Settings& settings) {
  return {{"plain", "plain long (in a child process)", false,
           [=](unsigned threads, long increments) {
             return plain_increments(settings, threads, increments);
           }},
          {"atomic", "std::atomic", true,
           [](unsigned threads, long increments) {
             return atomic_increments(std::memory_order_seq_cst, threads, increments);
           }},
          {"relaxed", "std::atomic, relaxed", true,
           [](unsigned threads, long increments) {
             return atomic_increments(std::memory_order_relaxed, threads, increments);
           }},
          {"shards", "one for each task, added up", true, sharded_increments}};
}

constexpr unsigned cost_threads[] = {1, 2, tasks};
std::string run_name(const Variant& variant, unsigned threads, long increments) {
  return join_name("atomicity", variant.name, threads, increments);
}
std::string cost_name(const Settings& settings, const Variant& variant, unsigned threads) {
  return run_name(variant, threads, sizes(settings).increments_in_all / threads);
}

void prepare(const Settings& settings) {
  const Sizes s = sizes(settings);
  for (const Variant& variant : variants(settings)) {
    const auto add = [&](unsigned threads, long increments, int repetitions = 0) {
      measure(
          run_name(variant, threads, increments),
          [=](Counters& counters) {
            const auto in_all = double(threads * increments);
            const Counted result = variant.run(threads, increments);
            counters["left"] = double(result.count);
            counters["lost"] = in_all - double(result.count);
            counters["share"] = counters["lost"] / in_all;
            counters["lost_any"] = counters["lost"] != 0;
            counters["each"] = result.seconds / in_all;
            return result.seconds;
          },
          unsigned(repetitions));
    };
    if (variant.guarded)
      add(tasks, asked);
    else  // repeated: each run is its own process
      for (const long increments : s.increments)
        add(tasks, increments, increments == asked ? s.runs : s.longer_runs);
    for (const unsigned threads : cost_threads) add(threads, s.increments_in_all / threads);
  }
}

// The task: 50 x 1,000, the results of the write-ups beside ours. The plain counter over many runs.
void report_asked(const Settings& settings, const Measurements& measured, Report& out) {
  Table& table = out.add(
      Table{"counts",
            "50 tasks x 1,000 increments of one counter: what is left of 50,000 (least-greatest)",
            {"counter", "left, there", "left, here", "lost, there", "lost, here", "time"}});
  std::string left_there, lost_there;
  for (const long left : there) {
    left_there += (left_there.empty() ? "" : "; ") + number(double(left));
    lost_there +=
        (lost_there.empty() ? "" : "; ") + number(100 * (1 - double(left) / (tasks * asked)), 2);
  }
  for (const Variant& variant : variants(settings)) {
    const Named found(measured, run_name(variant, tasks, asked));
    const Sample &left = found("left"), &lost = found("lost");
    if (!variant.guarded) {
      const std::string runs = std::to_string(left.values.size()) + " runs";
      table.rows.push_back({variant.label + ", " + runs, left_there, count(left), lost_there + " %",
                            percent(found("share")), found.time()});
    } else {
      const bool known = variant.name == "atomic";
      table.rows.push_back({variant.label, known ? "50,000 always" : "-", count(left),
                            known ? "0 %" : "-", lost.high() == 0 ? "0 %" : number(lost.high()),
                            found.time()});
    }
  }
}

// The longer each task runs, the more of them run at once.
void report_overlap(const Settings& settings, const Measurements& measured, Report& out) {
  const Variant plain = variants(settings).front();
  const double alone_s = measured.get(cost_name(settings, plain, 1), "each").median();
  Table& table = out.add(Table{"overlap",
                               "The plain counter, 50 tasks, by the length of a task",
                               {"increments of a task", "runs", "runs that lost",
                                "lost, median (least-greatest)", "a task alone takes"}});
  Plot& plot = out.add(Plot{"lost", "Share of 50 tasks' increments that a plain counter loses",
                            "increments of each task", "lost, %", true, false});
  const std::vector<long> lengths = sizes(settings).increments;
  for (const long increments : lengths) {
    const Named found(measured, run_name(plain, tasks, increments));
    table.rows.push_back({number(double(increments)), std::to_string(found("share").values.size()),
                          number(found("lost_any").sum()), percent(found("share")),
                          duration(alone_s * double(increments))});
  }
  plot.add("plain long", lengths, [&](long increments) {
    return measured.get(run_name(plain, tasks, increments), "share") * 100;
  });
}

void report_cost(const Settings& settings, const Measurements& measured, Report& out) {
  Table& table =
      out.add(Table{"cost", "Time for one increment, all threads together", {"counter"}});
  table.add_columns(cost_threads, threads_text);
  for (const Variant& variant : variants(settings)) {
    table.add_row({variant.label}, cost_threads, [&](unsigned threads) {
      return duration(measured.get(cost_name(settings, variant, threads), "each"));
    });
    if (variant.guarded)
      out.check_none(variant.label + " loses nothing",
                     measured.all(join_name("atomicity", variant.name, ""), "lost").worst(),
                     "lost in any run");
  }
}

void report_race(const Settings& settings, Report& out) {
  constexpr long in_all = 2'000;
  const std::optional<RaceReport> race =
      check_race({settings.binaries + "/racy_counter_tsan", "2", std::to_string(in_all / 2)},
                 "of the race", out);
  if (!race) return;
  // The count is in the output line with two numbers.
  long left = 0;
  std::istringstream lines(race->output);
  for (std::string line; std::getline(lines, line);)
    if (double seconds = 0; std::sscanf(line.c_str(), "%ld %lf", &left, &seconds) == 2) break;
  out.excerpts.push_back(
      {"race",
       "What ThreadSanitizer reports about the plain counter, in a run whose count ended at " +
           number(double(left)) + " of " + number(double(in_all)),
       race->excerpt});
}

void report(const Settings& settings, const Measurements& measured, Report& out) {
  report_asked(settings, measured, out);
  report_overlap(settings, measured, out);
  report_cost(settings, measured, out);
  report_race(settings, out);
}

const Add add(1, {"atomicity", "1. Atomicity: who loses an update, and what does keeping it cost?",
                  prepare, report});

}  // namespace
}  // namespace exchange::experiments
