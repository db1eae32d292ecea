// 6. Tasks that the program schedules itself: what do locks cost among them, and what is a spinlock
// worth?

#include "studies/experiments/fiber_tasks.hpp"
#include "studies/experiments/lab.hpp"

namespace exchange::experiments {
namespace {

constexpr unsigned spins_of_long[] = {10, 100, 1'000, 10'000};
constexpr unsigned spins_usual = 1'000;

struct Sizes {
  unsigned long_sections, short_sections, starts;  // sections of each task
  unsigned sections(bool is_long) const { return is_long ? long_sections : short_sections; }
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
  for (unsigned step = 0; step < steps; ++step) next_random(state);
  return state;
}

// A section that lasts, and in which another task may run: as when a time slice ends or I/O begins.
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
Run run_unguarded(const Sizes& size, bool is_long, Totals& totals) {
  std::vector<Section> own(tasks);
  const Run run = Kind::run([&](unsigned task) {
    Section section;  // not in the vector, where neighbours would share a cache line
    for (unsigned i = 0; i < size.sections(is_long); ++i) {
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
  return run;
}

template <class Kind, class Lock>
Run run_guarded(const Sizes& size, bool is_long, Lock& lock, Totals& totals) {
  Section section;
  std::vector<Histogram> waits_ns(tasks);
  const Run run = Kind::run([&](unsigned task) {
    for (unsigned i = 0; i < size.sections(is_long); ++i) {
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
  return run;
}

std::string spin_name(unsigned spins) { return "spin" + std::to_string(spins); }

template <class Kind>
void measure_kind(const std::string& kind, const Sizes& size) {
  for (const bool is_long : {true, false}) {
    const auto measured = [=](const std::string& lock, auto run) {
      measure(name_of("fibers", is_long ? "long" : "short", kind, lock), [=](Counters& counters) {
        Totals totals;
        const Run ran = run(totals, counters);
        set_quantiles(counters, totals.waits_ns);
        counters["cpu"] = ran.used.cpu_s();
        counters["missing"] = double(tasks) * size.sections(is_long) - double(totals.entered);
        counters["overlapped"] = double(totals.overlapped);
        return ran.seconds;
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
        const Run run = run_guarded<Kind>(size, is_long, lock, totals);
        counters["contended"] = double(lock.contention().sections);
        counters["by_spinning"] = double(lock.contention().got_by_spinning);
        counters["spins"] = double(lock.contention().spins);
        return run;
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

const std::pair<std::string, std::string> kinds[] = {
    {"fibers", "fibers on one OS thread"},
    {"fibers-two", "fibers on two OS threads, work sharing"},
    {"threads-one", "std::thread, one CPU"},
    {"threads", "std::thread, all CPUs"}};

Table locks_table(const Sizes& size, bool is_long, const Measurements& measured) {
  const unsigned sections = size.sections(is_long);
  Table table{is_long ? "long" : "short",
              std::string(is_long ? "long" : "short") + " critical section, 5 tasks x " +
                  number(sections) + " sections",
              {"tasks", "", "no lock", "mutex", "spinlock"}};
  table.rows.push_back(is_long ? std::vector<std::string>{"there: user-level threads", "user",
                                                          "1.57 s", "1.60 s", "4.74 s"}
                               : std::vector<std::string>{"there: user-level threads", "total",
                                                          "5.96 s", "14.13 s", "7.95 s"});
  for (const auto& [kind, label] : kinds)
    for (const auto& [counter, what] :
         {std::pair{"seconds", "time"}, {"cpu", "CPU time"}, {"p99", "wait, 99 %"}}) {
      const bool is_wait = std::string(counter) == "p99";
      if (!is_long && is_wait) continue;
      table.add_row(
          {label, what}, std::vector<std::string>{"none", "mutex", spin_name(spins_usual)},
          [&, kind = kind, counter = counter](const std::string& lock) -> std::string {
            if (is_wait && lock == "none") return "-";
            return duration(measured.of(name_of("fibers", table.key, kind, lock), counter));
          });
    }
  return table;
}

void report(const Settings& settings, const Measurements& measured, Report& out) {
  const Sizes size = sizes(settings);
  out.add(locks_table(size, true, measured));
  out.add(locks_table(size, false, measured));
  Table& spinning = out.add(Table{"spinning",
                                  "a spinlock that yields after N spins, long section (medians)",
                                  {"tasks", "spins at most", "sections that had to wait",
                                   "got it by spinning", "spins per section", "time"}});
  Plot& plot = out.add(Plot{"spinning", "Five tasks, a long section, a spinlock",
                            "spins before it yields", "seconds"});
  for (const auto& [kind, label] : kinds) {
    const auto of = [&, kind = kind](unsigned spins, const char* counter) -> const Sample& {
      return measured.of(name_of("fibers/long", kind, spin_name(spins)), counter);
    };
    for (const unsigned spins : spins_of_long)
      spinning.rows.push_back({label, number(spins), number(of(spins, "contended").median()),
                               number(of(spins, "by_spinning").median()),
                               number(of(spins, "spins").median() / (tasks * size.long_sections)),
                               duration(of(spins, "seconds"))});
    plot.add(label, spins_of_long, [&](unsigned spins) { return of(spins, "seconds"); });
  }
  out.add(Table{"start",
                "start one that does next to nothing, and join it",
                {"", "each"},
                {{"fiber", duration(measured.of("fibers/start/fiber", "each"))},
                 {"std::thread", duration(measured.of("fibers/start/thread", "each"))}}});

  const double by_spinning_alone = measured.all("fibers/long/fibers/spin", "by_spinning").sum(),
               spins_alone = measured.all("fibers/long/fibers/spin", "spins").sum();
  out.check_none("no two tasks are inside a section at once",
                 measured.all("fibers/", "overlapped").sum(), "overlaps");
  out.check_none("every task does all its sections", measured.all("fibers/", "missing").worst(),
                 "missing");
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
         "Five tasks with a critical section, long or short, as fibers on one OS thread, as "
         "fibers on two that share the work, and as threads: "
         "without a lock, with a mutex, with a spinlock. And is a spinlock worth anything where "
         "only one task can run?",
     .prepare = prepare,
     .report = report});

}  // namespace
}  // namespace exchange::experiments
