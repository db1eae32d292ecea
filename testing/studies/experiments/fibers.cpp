// 6. Tasks that the program schedules itself: what do locks cost among them, and what is a spinlock
// worth?

#include "base/histogram.hpp"
#include "studies/experiments/fiber_tasks.hpp"
#include "studies/experiments/lab.hpp"

namespace exchange::experiments {
namespace {

constexpr unsigned spins_of_long[] = {10, 100, 1'000, 10'000};
constexpr unsigned spins_usual = 1'000;

struct Sizes {
  unsigned long_sections, short_sections, starts;  // sections of each task
};
Sizes sizes(const Settings& settings) {
  return settings.quick ? Sizes{20, 20'000, 500} : Sizes{200, 400'000, 5'000};
}
constexpr unsigned half_section_steps = 25'000;  // about 50 us

struct Section {
  std::uint64_t entered = 0, overlapped = 0;
  bool inside = false;
  template <class Work>
  void enter(Work work) {
    overlapped += inside;
    inside = true;
    ++entered;
    work();
    inside = false;
  }
};

std::uint64_t compute(std::uint64_t state, unsigned steps) {
  for (unsigned step = 0; step < steps; ++step) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
  }
  return state;
}

// A section that lasts, and in which somebody else is let run: as when a time slice ends or I/O
// begins.
template <class Kind>
void long_section() {
  benchmark::DoNotOptimize(compute(1, half_section_steps));
  Kind::yield();
  benchmark::DoNotOptimize(compute(2, half_section_steps));
}

struct Totals {
  std::uint64_t entered = 0, overlapped = 0;
  Histogram waits_ns;
};

// Every task by itself, with a section of its own.
template <class Kind>
double run_unguarded(const Sizes& size, bool is_long, Totals& totals) {
  std::vector<Section> own(tasks);
  const double seconds = Kind::run([&](unsigned task) {
    Section section;  // not in the vector, where neighbours would share a cache line
    for (unsigned i = 0; i < (is_long ? size.long_sections : size.short_sections); ++i) {
      if (is_long)
        section.enter(long_section<Kind>), Kind::yield();
      else
        section.enter([] { benchmark::ClobberMemory(); });
    }
    own[task] = section;
  });
  for (const Section& section : own) {
    totals.entered += section.entered;
    totals.overlapped += section.overlapped;
  }
  return seconds;
}

template <class Kind, class Lock>
double run_guarded(const Sizes& size, bool is_long, Lock& lock, Totals& totals) {
  Section section;
  std::vector<Histogram> waits_ns(tasks);
  const double seconds = Kind::run([&](unsigned task) {
    for (unsigned i = 0; i < (is_long ? size.long_sections : size.short_sections); ++i) {
      if (!is_long) {
        const std::lock_guard held(lock);
        section.enter([] { benchmark::ClobberMemory(); });
        continue;
      }
      const double begin_s = now_s();
      {
        const std::lock_guard held(lock);
        waits_ns[task].record(std::uint64_t((now_s() - begin_s) * 1e9));
        section.enter(long_section<Kind>);
      }
      Kind::yield();
    }
  });
  totals.entered = section.entered;
  totals.overlapped = section.overlapped;
  for (const Histogram& waits : waits_ns) totals.waits_ns.merge(waits);
  return seconds;
}

std::string spin_name(unsigned spins) { return "spin" + std::to_string(spins); }

template <class Kind>
void measure_kind(const std::string& kind, const Sizes& size) {
  for (const bool is_long : {true, false}) {
    const auto measured = [=](const std::string& lock, auto run) {
      measure("fibers/" + std::string(is_long ? "long/" : "short/") + kind + "/" + lock,
              [=](Counters& counters) {
                const CpuTime before = cpu_time();
                Totals totals;
                const double seconds = run(totals, counters);
                const CpuTime after = cpu_time();
                // Their split is sampled by the clock tick, too coarse for short runs.
                counters["cpu"] = after.user_s - before.user_s + after.system_s - before.system_s;
                counters["wait"] = double(totals.waits_ns.quantile(0.99)) / 1e9;
                counters["missing"] =
                    double(tasks) * (is_long ? size.long_sections : size.short_sections) -
                    double(totals.entered);
                counters["overlapped"] = double(totals.overlapped);
                return seconds;
              });
    };
    measured("none",
             [=](Totals& totals, Counters&) { return run_unguarded<Kind>(size, is_long, totals); });
    measured("mutex", [=](Totals& totals, Counters&) {
      typename Kind::Mutex mutex;
      return run_guarded<Kind>(size, is_long, mutex, totals);
    });
    for (const unsigned spins : spins_of_long) {
      if (!is_long && spins != spins_usual) continue;
      measured(spin_name(spins), [=](Totals& totals, Counters& counters) {
        Spinlock<Kind> lock(spins);
        const double seconds = run_guarded<Kind>(size, is_long, lock, totals);
        counters["contended"] = double(lock.contention().sections);
        counters["by_spinning"] = double(lock.contention().got_by_spinning);
        counters["spins"] = double(lock.contention().spins);
        return seconds;
      });
    }
  }
}

template <class Started>
void measure_start(const std::string& name, unsigned starts) {
  measure("fibers/start/" + name, [starts](Counters& counters) {
    unsigned done = 0;
    const double begin_s = now_s();
    for (unsigned i = 0; i < starts; ++i) Started([&] { ++done; }).join();
    const double seconds = now_s() - begin_s;
    counters["each"] = seconds / starts;
    counters["missing"] = starts - done;
    return seconds;
  });
}

void prepare(const Settings& settings) {
  const Sizes size = sizes(settings);
  measure_kind<Fibers>("fibers", size);
  measure_kind<FibersOnTwoThreads>("fibers-two", size);
  measure_kind<ThreadsOnOneCpu>("threads-one", size);
  measure_kind<Threads>("threads", size);
  measure_start<boost::fibers::fiber>("fiber", size.starts);
  measure_start<std::thread>("thread", size.starts);
}

// --- tables
// ---------------------------------------------------------------------------------------

const std::pair<std::string, std::string> kinds[] = {
    {"fibers", "fibers on one OS thread"},
    {"fibers-two", "fibers on two OS threads, work sharing"},
    {"threads-one", "std::thread, one CPU"},
    {"threads", "std::thread, all CPUs"}};

Table locks_table(const Sizes& size, bool is_long, const Measurements& measured) {
  const unsigned sections = is_long ? size.long_sections : size.short_sections;
  Table table{is_long ? "long" : "short",
              std::string(is_long ? "long" : "short") + " critical section, 5 tasks x " +
                  number(sections) + " sections",
              {"tasks", "", "no lock", "mutex", "spinlock"},
              {}};
  table.rows.push_back(is_long ? std::vector<std::string>{"there: user-level threads", "user",
                                                          "1.57 s", "1.60 s", "4.74 s"}
                               : std::vector<std::string>{"there: user-level threads", "total",
                                                          "5.96 s", "14.13 s", "7.95 s"});
  for (const auto& [kind, label] : kinds)
    for (const auto& [counter, what] :
         {std::pair{"seconds", "time"}, {"cpu", "CPU time"}, {"wait", "wait, 99 %"}}) {
      if (!is_long && std::string(counter) == "wait") continue;
      std::vector<std::string> row{label, what};
      for (const std::string& lock :
           {std::string("none"), std::string("mutex"), spin_name(spins_usual)}) {
        const Sample& sample =
            measured.of("fibers/" + table.key + "/" + kind + "/" + lock, counter);
        row.push_back(lock == "none" && std::string(counter) == "wait" ? "-" : duration(sample));
      }
      table.rows.push_back(std::move(row));
    }
  return table;
}

void report(const Settings& settings, const Measurements& measured, Report& out) {
  const Sizes size = sizes(settings);
  out.tables = {locks_table(size, true, measured), locks_table(size, false, measured)};

  Table spinning{"spinning",
                 "a spinlock that gives up after so many spins, long section (medians)",
                 {"tasks", "spins at most", "sections that had to wait", "got it by spinning",
                  "spins per section", "time"},
                 {}};
  Plot plot{"spinning",
            "Five tasks, a long section, a spinlock",
            "spins before it yields",
            "seconds",
            true,
            true,
            {}};
  double by_spinning_alone = 0, spins_alone = 0;
  for (const auto& [kind, label] : kinds) {
    Series series{label, {}};
    for (const unsigned spins : spins_of_long) {
      const std::string name = "fibers/long/" + kind + "/" + spin_name(spins);
      const Sample& time = measured.of(name);
      spinning.rows.push_back(
          {label, number(spins), number(measured.of(name, "contended").median()),
           number(measured.of(name, "by_spinning").median()),
           number(measured.of(name, "spins").median() / (tasks * size.long_sections)),
           duration(time)});
      series.points.push_back({double(spins), time.median(), time.low(), time.high()});
      if (kind != "fibers") continue;
      by_spinning_alone += measured.of(name, "by_spinning").high();
      for (const double value : measured.of(name, "spins").values) spins_alone += value;
    }
    plot.series.push_back(std::move(series));
  }
  out.tables.push_back(std::move(spinning));
  out.plots.push_back(std::move(plot));
  out.tables.push_back({"start",
                        "start one that does next to nothing, and join it",
                        {"", "each"},
                        {{"fiber", duration(measured.of("fibers/start/fiber", "each"))},
                         {"std::thread", duration(measured.of("fibers/start/thread", "each"))}}});

  double missing = 0, overlapped = 0;
  for (const auto& [kind, label] : kinds)
    for (const std::string section : {"long", "short"})
      for (const std::string& lock :
           {std::string("none"), std::string("mutex"), spin_name(spins_usual)}) {
        const std::string name = "fibers/" + section + "/" + kind + "/" + lock;
        missing +=
            std::max(measured.of(name, "missing").high(), -measured.of(name, "missing").low());
        overlapped += measured.of(name, "overlapped").high();
      }
  for (const std::string started : {"fiber", "thread"})
    missing += measured.of("fibers/start/" + started, "missing").high();
  out.check("no two tasks are inside a section at once", overlapped == 0,
            number(overlapped) + " overlaps");
  out.check("every task does all its sections", missing == 0, number(missing) + " missing");
  out.check("on one OS thread no fiber ever gets a lock by spinning",
            by_spinning_alone == 0 && spins_alone > 0,
            number(by_spinning_alone) + " of " + number(spins_alone) + " spins");
  if (usable_cpus().size() < 2)
    out.notes.push_back("only one CPU may be used: two OS threads take turns on it");
}

const Add add(
    6,
    {.name = "fibers",
     .title = "6. User-level threads: what do locks cost among them, and what is a spinlock worth?",
     .asked =
         "Five tasks with a critical section, long or short, as fibers on one OS thread, as fibers on two that share the work, and as threads: "
         "without a lock, with a mutex, with a spinlock. And is a spinlock worth anything where only one task can run?",
     .measured =
         "A long section computes for about 0.1 ms and yields in the middle, as a task does whose time slice ends or that begins I/O; a short "
         "one counts. Without a lock every task has a section of its own. The spinlock gives up after 1000 spins (10 to 10,000 in a table of its "
         "own) and yields; else one OS thread would spin for ever. Its spins are counted, and who got it by them.",
     .prepare = prepare,
     .report = report});

}  // namespace
}  // namespace exchange::experiments
