// 6. Tasks that the program itself schedules: what do locks cost among them, and when does a
// spinlock help?
// worth?

#include <boost/fiber/algo/shared_work.hpp>
#include <boost/fiber/barrier.hpp>
#include <boost/fiber/fiber.hpp>
#include <boost/fiber/mutex.hpp>
#include <boost/fiber/operations.hpp>

#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "course/experiments/lab.hpp"
#include "course/experiments/locks.hpp"

namespace exchange::experiments {
namespace {

// Five tasks, as threads or as fibers, with one interface: run() starts what it needs and waits for
// all of it; the tasks use yield and Mutex.
constexpr unsigned tasks = 5;

using TaskBody = std::function<void(unsigned task)>;

struct Threads {
  using Mutex = std::mutex;
  static void yield() { std::this_thread::yield(); }
  static Run run(const TaskBody& work) { return run_threads(tasks, work); }
};

struct ThreadsOnOneCpu : Threads {
  static Run run(const TaskBody& work) {
    return run_threads(tasks, [&](unsigned task) {
      pin_thread({usable_cpus().front()});
      work(task);
    });
  }
};

struct Fibers {
  using Mutex = boost::fibers::mutex;
  static void yield() { boost::this_fiber::yield(); }
  static void run_here(const TaskBody& work) {
    std::vector<boost::fibers::fiber> running;
    for (unsigned task = 0; task < tasks; ++task)
      running.emplace_back([&work, task] { work(task); });
    for (boost::fibers::fiber& fiber : running) fiber.join();
  }
  static Run run(const TaskBody& work) {
    return run_threads(1, [&](unsigned) { run_here(work); });
  }
};

struct FibersOnTwoThreads : Fibers {
  static Run run(const TaskBody& work) {
    boost::fibers::barrier all_done(2);  // while a thread waits here, it runs fibers
    return run_threads(2, [&](unsigned thread) {
      boost::fibers::use_scheduling_algorithm<boost::fibers::algo::shared_work>();
      if (thread == 0) run_here(work);
      all_done.wait();
    });
  }
};

struct Contention {
  std::uint64_t sections = 0;  // sections that had to wait
  std::uint64_t got_by_spinning = 0;
  std::uint64_t spins = 0;
};

// Test and test-and-set. It spins at most spins_max times, then lets another task run: otherwise it
// would spin for ever on one OS thread.
template <class Kind>
class Spinlock {
 public:
  explicit Spinlock(unsigned spins_max) : spins_max_(spins_max) {}
  void lock() {
    if (flag_.look_and_try_lock()) return;
    std::uint64_t spins = 0;
    bool spinning = false;
    for (bool mine = false; !mine;) {
      for (unsigned spin = 0; spin < spins_max_ && !mine; ++spin, ++spins) {
        cpu_pause();
        mine = spinning = flag_.look_and_try_lock();
      }
      if (mine) break;
      Kind::yield();
      mine = flag_.look_and_try_lock();
    }
    ++contention_.sections;
    contention_.got_by_spinning += spinning;
    contention_.spins += spins;
  }
  void unlock() { flag_.unlock(); }
  const Contention& contention() const { return contention_; }

 private:
  Flag flag_;
  const unsigned spins_max_;
  Contention contention_;  // only the holder of the lock changes it
};

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

// A long section in which another task may run, as when a time slice ends or I/O begins.
template <class Kind>
void long_section() {
  keep(compute(1, half_section_steps));
  Kind::yield();
  keep(compute(2, half_section_steps));
}

struct Totals {
  std::uint64_t entered = 0, overlapped = 0;
  Histogram waits_ns;
};

// Each task has its own section.
struct Unguarded {
  void lock() {}
  void unlock() {}
};

template <class Kind, class Lock>
Run run_sections(const Sizes& size, bool is_long, Lock& lock, Totals& totals) {
  Section common;
  std::vector<Section> own(tasks);
  std::vector<Histogram> waits_ns(tasks);
  const Run run = Kind::run([&](unsigned task) {
    Section mine;  // not in the vector, where neighbours would share a cache line
    Section& section = std::is_same_v<Lock, Unguarded> ? mine : common;
    for (unsigned i = 0; i < size.sections(is_long); ++i) {
      if (!is_long) {
        const std::lock_guard held(lock);
        section.enter([] { clobber_memory(); });
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
    own[task] = mine;
  });
  own.push_back(common);
  for (const Section& section : own) {
    totals.entered += section.entered;
    totals.overlapped += section.overlapped;
  }
  for (const Histogram& waits : waits_ns) totals.waits_ns.merge(waits);
  return run;
}

std::string spin_name(unsigned spins) { return "spin" + std::to_string(spins); }

template <class Kind>
void measure_kind(const std::string& kind, const Sizes& size) {
  for (const bool is_long : {true, false}) {
    const auto measured = [=](const std::string& lock, auto run) {
      measure(join_name("fibers", is_long ? "long" : "short", kind, lock), [=](Counters& counters) {
        Totals totals;
        const Run ran = run(totals, counters);
        set_quantiles(counters, totals.waits_ns);
        counters["cpu"] = ran.used.cpu_s();
        counters["missing"] = double(tasks) * size.sections(is_long) - double(totals.entered);
        counters["overlapped"] = double(totals.overlapped);
        return ran.seconds;
      });
    };
    measured("none", [=](Totals& totals, Counters&) {
      Unguarded none;
      return run_sections<Kind>(size, is_long, none, totals);
    });
    measured("mutex", [=](Totals& totals, Counters&) {
      typename Kind::Mutex mutex;
      return run_sections<Kind>(size, is_long, mutex, totals);
    });
    for (const unsigned spins : spins_of_long) {
      if (!is_long && spins != spins_usual) continue;
      measured(spin_name(spins), [=](Totals& totals, Counters& counters) {
        Spinlock<Kind> lock(spins);
        const Run run = run_sections<Kind>(size, is_long, lock, totals);
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
            return duration(measured.get(join_name("fibers", table.key, kind, lock), counter));
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
    const auto sample = [&, kind = kind](unsigned spins, const char* counter) -> const Sample& {
      return measured.get(join_name("fibers/long", kind, spin_name(spins)), counter);
    };
    for (const unsigned spins : spins_of_long)
      spinning.rows.push_back(
          {label, number(spins), number(sample(spins, "contended").median()),
           number(sample(spins, "by_spinning").median()),
           number(sample(spins, "spins").median() / (tasks * size.long_sections)),
           duration(sample(spins, "seconds"))});
    plot.add(label, spins_of_long, [&](unsigned spins) { return sample(spins, "seconds"); });
  }
  out.add(Table{"start",
                "start one that does next to nothing, and join it",
                {"", "each"},
                {{"fiber", duration(measured.get("fibers/start/fiber", "each"))},
                 {"std::thread", duration(measured.get("fibers/start/thread", "each"))}}});

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
    6, {"fibers",
        "6. User-level threads: what do locks cost among them, and what is a spinlock worth?",
        prepare, report});

}  // namespace
}  // namespace exchange::experiments
