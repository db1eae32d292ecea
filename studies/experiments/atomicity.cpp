// 1. Which counters lose updates, and what does keeping them cost?

#include <atomic>
#include <cstdio>
#include <sstream>
#include <stdexcept>

#include "studies/experiments/lab.hpp"

namespace exchange::experiments {
namespace {

constexpr unsigned tasks = 50;
constexpr long asked = 1'000;  // increments of each task
// what was left of 50,000 in the write-ups
constexpr long there[] = {33'408, 29'972, 26'164, 48'302};

struct Sizes {
  int runs;                      // of the plain counter, as asked
  int longer_runs;               // of the longer ones
  std::vector<long> increments;  // of each task: the longer, the more tasks overlap
  long increments_in_all;        // where the cost of one is measured
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
      benchmark::ClobberMemory();
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
std::string cost_name(const Variant& variant, unsigned threads) {
  return name_of("atomicity", variant.name, "cost", threads);
}
std::string asked_name(const Variant& variant) { return "atomicity/" + variant.name + "/asked"; }

void prepare(const Settings& settings) {
  for (const Variant& variant : variants(settings)) {
    const auto counted = [=](unsigned threads, long increments) {
      return [=](Counters& counters) {
        const Counted result = variant.run(threads, increments);
        counters["left"] = double(result.count);
        counters["lost"] = double(threads * increments - result.count);
        counters["each"] = result.seconds / double(threads * increments);
        return result.seconds;
      };
    };
    measure(asked_name(variant), counted(tasks, asked));
    for (const unsigned threads : cost_threads)
      measure(cost_name(variant, threads),
              counted(threads, sizes(settings).increments_in_all / threads));
  }
}

// The plain counter again and again: each run is a process of its own.
struct Losses {
  Sample share, left, each_s;
  int runs_that_lost = 0;
};
Losses run_plainly(const Settings& settings, long increments, int runs) {
  Losses losses;
  for (int run = 0; run < runs; ++run) {
    const Counted counted = plain_increments(settings, tasks, increments);
    losses.left.values.push_back(double(counted.count));
    losses.share.values.push_back(1 - double(counted.count) / double(tasks * increments));
    losses.each_s.values.push_back(counted.seconds / double(tasks * increments));
    losses.runs_that_lost += counted.count != tasks * increments;
  }
  return losses;
}

// As asked: 50 x 1,000, theirs beside ours. The plain one over many runs.
void report_asked(const Settings& settings, const Measurements& measured, const Losses& plainly,
                  Report& out) {
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
    const Named of(measured, asked_name(variant));
    const Sample& lost = of("lost");
    if (!variant.guarded) {
      table.rows.push_back(
          {variant.label + ", " + std::to_string(plainly.share.values.size()) + " runs", left_there,
           count(plainly.left), lost_there + " %", percent(plainly.share), of.time()});
    } else {
      const std::string left = variant.name == "atomic" ? "50,000 always" : "-";
      table.rows.push_back({variant.label, left, count(of("left")), left == "-" ? "-" : "0 %",
                            lost.high() == 0 ? "0 %" : number(lost.high()), of.time()});
    }
  }
}

// The longer each task runs, the more of them run at once.
void report_overlap(const Settings& settings, const Measurements& measured, const Losses& as_asked,
                    Report& out) {
  const Sizes s = sizes(settings);
  const double alone_s = measured.of(cost_name(variants(settings).front(), 1), "each").median();
  Table& table = out.add(Table{"overlap",
                               "The plain counter, 50 tasks, by the length of a task",
                               {"increments of a task", "runs", "runs that lost",
                                "lost, median (least-greatest)", "a task alone takes"}});
  Plot& plot = out.add(Plot{"lost",
                            "Share of 50 tasks' increments that a plain counter loses",
                            "increments of each task",
                            "lost, %",
                            true,
                            false,
                            {{"plain long"}}});
  for (const long increments : s.increments) {
    const Losses losses =
        increments == asked ? as_asked : run_plainly(settings, increments, s.longer_runs);
    table.rows.push_back({number(double(increments)), std::to_string(losses.share.values.size()),
                          std::to_string(losses.runs_that_lost), percent(losses.share),
                          duration(alone_s * double(increments))});
    plot.series[0].points.push_back(point(double(increments), losses.share * 100));
  }
}

void report_cost(const Settings& settings, const Measurements& measured, Report& out) {
  Table& table =
      out.add(Table{"cost", "Time for one increment, all threads together", {"counter"}});
  table.add_columns(cost_threads, threads_text);
  for (const Variant& variant : variants(settings)) {
    table.add_row({variant.label}, cost_threads, [&](unsigned threads) {
      return duration(measured.of(cost_name(variant, threads), "each"));
    });
    if (variant.guarded)
      out.check_none(variant.label + " loses nothing",
                     measured.all(name_of("atomicity", variant.name, ""), "lost").worst(),
                     "lost in any run");
  }
}

void report_race(const Settings& settings, Report& out) {
  constexpr long in_all = 2'000;
  const std::optional<RaceReport> race =
      check_race({settings.binaries + "/racy_counter_tsan", "2", std::to_string(in_all / 2)},
                 "of the race", out);
  if (!race) return;
  // The count is the line of two numbers among what was written.
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
  const Losses as_asked = run_plainly(settings, asked, sizes(settings).runs);
  report_asked(settings, measured, as_asked, out);
  report_overlap(settings, measured, as_asked, out);
  report_cost(settings, measured, out);
  report_race(settings, out);
}

const Add add(
    1,
    {.name = "atomicity",
     .title = "1. Atomicity: who loses an update, and what does keeping it cost?",
     .asked =
         "50 tasks increment one counter 1000 times each: atomic against plain. How many updates "
         "are lost, and who tells?",
     .prepare = prepare,
     .report = report});

}  // namespace
}  // namespace exchange::experiments
