// 5. Which lock, for which section and how many threads?

#include "course/experiments/locks.hpp"

#include "course/experiments/lab.hpp"

namespace exchange::experiments {
namespace {

struct Plan {
  unsigned threads;
  std::vector<unsigned> cpus;
  double section_s;
  double outside_s;  // of work between two sections
  double window_s;   // the length of a run
};

struct Result {
  Run run;
  long sections = 0, lost = 0, violations = 0, most = 0;  // most: of any one thread
};

// The data that the lock guards. `entered` is plain, so that it loses counts if the lock does not
// exclude; `occupant` detects a second thread inside.
struct alignas(64) Section {
  std::atomic<unsigned> occupant{0};
  long entered = 0;
  long violations = 0;

  void enter(unsigned thread) {
    if (occupant.load(std::memory_order_relaxed) != 0) ++violations;
    occupant.store(thread + 1, std::memory_order_relaxed);
    ++entered;
  }
  void leave(unsigned thread) {
    if (occupant.load(std::memory_order_relaxed) != thread + 1) ++violations;
    occupant.store(0, std::memory_order_relaxed);
  }
};

template <class Lock>
Result run(const Plan& plan) {
  Lock lock;
  Section section;
  const Work inside(plan.section_s), outside(plan.outside_s);
  std::vector<long> sections(plan.threads);
  Result result{run_window(plan.threads, plan.window_s,
                           [&](unsigned thread, const auto& begin, const Over& over) {
                             pin_thread({plan.cpus[thread % plan.cpus.size()]});
                             begin();
                             long mine = 0;
                             while (!over.load(std::memory_order_relaxed) && lock.lock(over)) {
                               section.enter(thread);
                               inside();
                               section.leave(thread);
                               lock.unlock();
                               ++mine;
                               outside();
                             }
                             sections[thread] = mine;
                           })};
  for (const long count : sections) {
    result.sections += count;
    result.most = std::max(result.most, count);
  }
  result.lost = result.sections - section.entered;
  result.violations = section.violations;
  return result;
}

struct Kind {
  const char* name;
  const char* label;
  Result (*run)(const Plan&);
};
const Kind kinds[] = {
    {"mutex", "std::mutex", run<StdMutex>},
    {"adaptive", "adaptive mutex", run<AdaptiveMutex>},
    {"inherit", "priority-inheriting mutex", run<InheritingMutex>},
    {"tas", "spin: test-and-set", run<TestAndSetLock>},
    {"backoff", "spin: look first, back off", run<BackoffLock>},
    {"yield", "spin, then yield", run<YieldingLock>},
    {"ticket", "spin: ticket", run<TicketLock>},
};

// Each length of a section with one number of threads, and one length with each number.
struct Grid {
  std::vector<long> sections_ns;
  std::vector<unsigned> threads;
  double window_s, long_window_s;  // long: for threads that take turns on CPUs
};
constexpr long usual_ns = 1'000;
constexpr unsigned usual_threads = 16;
Grid grid(const Settings& settings) {
  if (settings.quick) return {{0, usual_ns, 100'000}, {2, usual_threads}, 0.01, 0.02};
  return {{0, 100, usual_ns, 10'000, 100'000}, {1, 2, 4, usual_threads, 64}, 0.04, 0.1};
}

struct Place {
  std::string name, title;
  std::vector<unsigned> cpus;
};
std::vector<Place> places() {
  const std::vector<unsigned> cpus = usable_cpus();
  std::vector<Place> found;
  if (cpus.size() > 1) found.push_back({"2cpu", "two CPUs", {cpus[0], cpus[1]}});
  found.push_back({"1cpu", "one CPU", {cpus[0]}});
  return found;
}

std::string cell(const Place& place, const Kind& kind, long section_ns, unsigned threads) {
  return join_name("locks", place.name, kind.name, std::to_string(section_ns) + "ns", threads);
}

double count(Counters& counters, const Result& result, unsigned threads) {
  const auto sections = double(result.sections);
  counters["section"] = result.run.seconds / sections;
  counters["most"] = double(result.most) * threads / sections;
  counters["lost"] = double(result.lost);
  counters["violations"] = double(result.violations);
  return result.run.seconds;
}

void prepare(const Settings& settings) {
  const Grid g = grid(settings);
  for (const Place& place : places())
    for (const Kind& kind : kinds)
      for (const long section_ns : g.sections_ns)
        for (const unsigned threads : g.threads) {
          if (section_ns != usual_ns && threads != usual_threads) continue;
          const double section_s = double(section_ns) * 1e-9;
          const Plan plan{threads, place.cpus, section_s, std::max(section_s, 100e-9),
                          threads > 4 ? g.long_window_s : g.window_s};
          measure(cell(place, kind, section_ns, threads), [&kind, plan](Counters& counters) {
            return count(counters, kind.run(plan), plan.threads);
          });
        }
}

std::string length(long section_ns) { return duration(double(section_ns) * 1e-9); }

Table by_threads(const Grid& g, const Measurements& measured, const Place& place) {
  const unsigned most = g.threads.back();
  Table table{"threads-" + place.name,
              length(usual_ns) + " inside, on " + place.title +
                  ": wall time for one section, by threads; "
                  "sections of the luckiest thread to an equal share",
              {"lock"}};
  table.add_columns(g.threads, threads_text);
  table.columns.push_back("luckiest of " + std::to_string(most));
  for (const Kind& kind : kinds) {
    table.add_row({kind.label}, g.threads, [&](unsigned threads) {
      return duration(measured.get(cell(place, kind, usual_ns, threads), "section"));
    });
    table.rows.back().push_back(
        number(measured.get(cell(place, kind, usual_ns, most), "most").median()));
  }
  return table;
}

Plot crossover(const Grid& g, const Measurements& measured, const Place& place) {
  Plot plot{"crossover-" + place.name + "-" + std::to_string(usual_threads),
            std::to_string(usual_threads) + " threads on " + place.title +
                ": throughput to that of std::mutex (0 ns is drawn at 10 ns)",
            "work inside the section (ns)", "sections per second, std::mutex = 1"};
  for (const Kind& kind : kinds) {
    Series series{kind.label};
    for (const long section_ns : g.sections_ns) {
      const double mutex_s =
          measured.get(cell(place, kinds[0], section_ns, usual_threads), "section").median();
      const Sample& section = measured.get(cell(place, kind, section_ns, usual_threads), "section");
      series.points.push_back({std::max(10.0, double(section_ns)), mutex_s / section.median(),
                               mutex_s / section.high(), mutex_s / section.low()});
    }
    plot.series.push_back(std::move(series));
  }
  return plot;
}

void report(const Settings& settings, const Measurements& measured, Report& out) {
  const Grid g = grid(settings);
  for (const Place& place : places()) {
    out.add(by_threads(g, measured, place));
    out.add(crossover(g, measured, place));
  }
  if (places().size() == 1)
    out.notes.push_back("this process may use one CPU only, so nothing was measured on two");

  for (const Kind& kind : kinds) {
    double lost = 0, violations = 0;
    for (const Place& place : places()) {
      const std::string runs = join_name("locks", place.name, kind.name, "");
      lost += measured.all(runs, "lost").worst();
      violations += measured.all(runs, "violations").worst();
    }
    out.check(std::string(kind.label) + " excludes", lost == 0 && violations == 0,
              number(lost) + " counts lost, " + number(violations) + " times two inside, " +
                  number(double(places().size() * (g.sections_ns.size() + g.threads.size() - 1))) +
                  " kinds of runs");
  }
}

const Add add(5, {"locks", "5. Locks: which one, for which section and how many threads?", prepare,
                  report});

}  // namespace
}  // namespace exchange::experiments
