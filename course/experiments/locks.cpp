// 5. Which lock, for which section and how many threads?

#include "course/experiments/locks.hpp"

#include <type_traits>

#include "course/experiments/lab.hpp"
#include "course/experiments/work.hpp"

namespace exchange::experiments {
namespace {

struct Plan {
  unsigned threads;
  std::vector<unsigned> cpus;
  double section_s;
  double outside_s;     // of work between two sections
  double window_s = 0;  // run this long, or
  long sections = 0;    // this many sections of each thread
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
  Result result{run_window(
      plan.threads, plan.window_s, [&](unsigned thread, const auto& begin, const Over& over) {
        pin_thread({plan.cpus[thread % plan.cpus.size()]});
        begin();
        long mine = 0;
        while (!over.load(std::memory_order_relaxed) &&
               (plan.sections == 0 || mine < plan.sections) && lock.lock(over)) {
          if constexpr (!std::is_same_v<Lock, NoLock>) section.enter(thread);
          inside();
          if constexpr (!std::is_same_v<Lock, NoLock>) section.leave(thread);
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
  result.lost = std::is_same_v<Lock, NoLock> ? 0 : result.sections - section.entered;
  result.violations = section.violations;
  return result;
}

struct Kind {
  const char* name;
  const char* label;
  Result (*run)(const Plan&);
};
const Kind none{"none", "none", run<NoLock>};
const Kind kinds[] = {
    {"mutex", "std::mutex", run<StdMutex>},
    {"adaptive", "adaptive mutex", run<AdaptiveMutex>},
    {"inherit", "priority-inheriting mutex", run<InheritingMutex>},
    {"tas", "spin: test-and-set", run<TestAndSetLock>},
    {"backoff", "spin: look first, back off", run<BackoffLock>},
    {"yield", "spin, then yield", run<YieldingLock>},
    {"ticket", "spin: ticket", run<TicketLock>},
};
const Kind* const as_asked[] = {&none, &kinds[0], &kinds[3]};

struct Grid {
  std::vector<long> sections_ns;
  std::vector<unsigned> threads;
  unsigned usual_threads;          // for the tables by length
  long usual_ns;                   // for the tables by threads
  double window_s, long_window_s;  // long: for threads that take turns on CPUs
  double work_s;                   // of one thread in runs with a fixed amount of work
};
Grid grid(const Settings& settings) {
  if (settings.quick) return {{0, 1'000, 100'000}, {2, 16}, 2, 1'000, 0.01, 0.02, 0.01};
  return {{0, 100, 1'000, 10'000, 100'000}, {1, 2, 4, 16, 64}, 4, 1'000, 0.04, 0.1, 0.06};
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

// 5 threads, as in table E: sections of 100 us, and of 100 ns.
struct Fixed {
  const char *name, *title;
  double section_s;
  const char* there[3];
};
const Fixed fixed[] = {
    {"long", "long section (100 us)", 100e-6, {"1.57 s user", "1.60 s user", "4.74 s user"}},
    {"short",
     "short section (100 ns)",
     100e-9,
     {"5.96 s in all", "14.13 s in all", "7.95 s in all"}}};

std::string cell(const Place& place, const Fixed& program, const Kind& kind) {
  return join_name("locks/fixed", place.name, program.name, kind.name);
}

// Returns the time of one section, or of the whole run if `each` is false.
double count(Counters& counters, const Result& result, unsigned threads, bool each) {
  const auto sections = double(result.sections);
  const double parts = each ? sections : 1;
  counters["wall"] = result.run.seconds / parts;
  counters["user"] = result.run.used.user_s / parts;
  counters["system"] = result.run.used.system_s / parts;
  counters["cpu"] = result.run.used.cpu_s() / parts;
  counters["most"] = double(result.most) * threads / sections;
  counters["lost"] = double(result.lost);
  counters["violations"] = double(result.violations);
  return result.run.seconds;
}

void prepare(const Settings& settings) {
  const Grid g = grid(settings);
  for (const Place& place : places()) {
    for (const Kind& kind : kinds)
      for (const long section_ns : g.sections_ns)
        for (const unsigned threads : g.threads) {
          const double section_s = double(section_ns) * 1e-9;
          const Plan plan{threads, place.cpus, section_s, std::max(section_s, 100e-9),
                          threads > 4 ? g.long_window_s : g.window_s};
          measure(cell(place, kind, section_ns, threads), [&kind, plan](Counters& counters) {
            return count(counters, kind.run(plan), plan.threads, true);
          });
        }
    for (const Fixed& program : fixed)
      for (const Kind* kind : as_asked) {
        const Plan plan{5,
                        place.cpus,
                        program.section_s,
                        program.section_s,
                        0,
                        long(g.work_s / program.section_s)};
        measure(cell(place, program, *kind), [kind, plan](Counters& counters) {
          return count(counters, kind->run(plan), plan.threads, false);
        });
      }
  }
}

std::string length(long section_ns) { return duration(double(section_ns) * 1e-9); }

Table table_e(const Grid& g, const Measurements& measured) {
  Table table{"E-locks",
              "Table E: 5 threads, each " + duration(g.work_s) +
                  " of work in sections and as much between them",
              {"section, lock", "there"}};
  for (const Place& place : places())
    for (const char* what : {"wall", "user", "system"})
      table.columns.push_back("here, " + place.title + ": " + what);
  for (const Fixed& program : fixed)
    for (std::size_t i = 0; i < std::size(as_asked); ++i) {
      std::vector<std::string> row{std::string(program.title) + ", " + as_asked[i]->label,
                                   program.there[i]};
      for (const Place& place : places())
        for (const char* what : {"wall", "user", "system"})
          row.push_back(duration(measured.get(cell(place, program, *as_asked[i]), what)));
      table.rows.push_back(std::move(row));
    }
  return table;
}

// One row for each lock and one column for each length, at the usual number of threads.
Table by_length(const Grid& g, const Measurements& measured, const Place& place) {
  Table table{"length-" + place.name,
              std::to_string(g.usual_threads) + " threads on " + place.title +
                  ": wall time for one section; user + system time",
              {"lock"}};
  table.add_columns(g.sections_ns, [](long ns) { return length(ns) + " inside"; });
  for (const Kind& kind : kinds)
    table.add_row({kind.label}, g.sections_ns, [&](long section_ns) {
      const Named found(measured, cell(place, kind, section_ns, g.usual_threads));
      return found.time("wall") + "; " + found.median_time("user") + " + " +
             found.median_time("system");
    });
  return table;
}

Table by_threads(const Grid& g, const Measurements& measured, const Place& place) {
  const unsigned most = g.threads.back();
  Table table{"threads-" + place.name,
              length(g.usual_ns) + " inside, on " + place.title +
                  ": wall time for one section, by threads; "
                  "sections of the luckiest thread to an equal share",
              {"lock"}};
  table.add_columns(g.threads, threads_text);
  table.columns.push_back("luckiest of " + std::to_string(most));
  for (const Kind& kind : kinds) {
    table.add_row({kind.label}, g.threads, [&](unsigned threads) {
      return duration(measured.get(cell(place, kind, g.usual_ns, threads), "wall"));
    });
    table.rows.back().push_back(
        number(measured.get(cell(place, kind, g.usual_ns, most), "most").median()));
  }
  return table;
}

// Shows the fastest lock, and its speed relative to std::mutex; none if their spreads overlap.
Table map_of_winners(const Grid& g, const Measurements& measured, const Place& place) {
  Table table{"winners-" + place.name,
              "The fastest on " + place.title +
                  ", where the spread leaves no doubt that it is faster than std::mutex; "
                  "and by what factor",
              {"inside"}};
  table.add_columns(g.threads, threads_text);
  for (const long section_ns : g.sections_ns)
    table.add_row({length(section_ns)}, g.threads, [&](unsigned threads) -> std::string {
      const auto wall = [&](const Kind& kind) -> const Sample& {
        return measured.get(cell(place, kind, section_ns, threads), "wall");
      };
      const Kind* best = nullptr;
      for (const Kind& kind : kinds)
        if (wall(kind).high() < wall(kinds[0]).low() &&
            (best == nullptr || wall(kind).median() < wall(*best).median()))
          best = &kind;
      if (best == nullptr) return "-";
      return std::string(best->label) + " x " +
             number(wall(kinds[0]).median() / wall(*best).median());
    });
  return table;
}

Plot crossover(const Grid& g, const Measurements& measured, const Place& place, unsigned threads) {
  Plot plot{"crossover-" + place.name + "-" + std::to_string(threads),
            std::to_string(threads) + " threads on " + place.title +
                ": throughput to that of std::mutex (0 ns is drawn at 10 ns)",
            "work inside the section (ns)", "sections per second, std::mutex = 1"};
  for (const Kind& kind : kinds) {
    Series series{kind.label};
    for (const long section_ns : g.sections_ns) {
      const double mutex_s =
          measured.get(cell(place, kinds[0], section_ns, threads), "wall").median();
      const Sample& wall = measured.get(cell(place, kind, section_ns, threads), "wall");
      series.points.push_back({std::max(10.0, double(section_ns)), mutex_s / wall.median(),
                               mutex_s / wall.high(), mutex_s / wall.low()});
    }
    plot.series.push_back(std::move(series));
  }
  return plot;
}

Plot cpu_cost(const Grid& g, const Measurements& measured, const Place& place) {
  Plot plot{"cpu-" + place.name,
            length(g.usual_ns) + " inside, on " + place.title + ": CPU time for one section",
            "threads", "user + system time (us)"};
  for (const Kind& kind : kinds)
    plot.add(kind.label, g.threads, [&](unsigned threads) {
      return measured.get(cell(place, kind, g.usual_ns, threads), "cpu") * 1e6;
    });
  return plot;
}

void report(const Settings& settings, const Measurements& measured, Report& out) {
  const Grid g = grid(settings);
  out.add(table_e(g, measured));
  for (const Place& place : places()) {
    out.add(by_length(g, measured, place));
    // for every grid
    for (const unsigned threads : {2u, 16u}) out.add(crossover(g, measured, place, threads));
  }
  for (const Place& place : places()) {
    out.add(map_of_winners(g, measured, place));
    out.add(by_threads(g, measured, place));
    out.add(cpu_cost(g, measured, place));
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
                  number(double(places().size() * g.sections_ns.size() * g.threads.size())) +
                  " kinds of runs");
  }
}

const Add add(5, {"locks", "5. Locks: which one, for which section and how many threads?", prepare,
                  report});

}  // namespace
}  // namespace exchange::experiments
