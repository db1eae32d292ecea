// 6. Tasks that the program itself schedules: what do locks cost among them, and when does a
// spinlock help?

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

#include "base/histogram.hpp"
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
  std::uint64_t got_by_spinning = 0;  // sections
  std::uint64_t spins = 0;
};

constexpr unsigned spins_max = 1'000;

// Test and test-and-set. It spins at most spins_max times, then lets another task run: otherwise it
// would spin for ever on one OS thread.
template <class Kind>
class Spinlock {
 public:
  void lock() {
    if (flag_.look_and_try_lock()) return;
    std::uint64_t spins = 0;
    bool spinning = false;
    for (bool mine = false; !mine;) {
      for (unsigned spin = 0; spin < spins_max && !mine; ++spin, ++spins) {
        cpu_pause();
        mine = spinning = flag_.look_and_try_lock();
      }
      if (mine) break;
      Kind::yield();
      mine = flag_.look_and_try_lock();
    }
    contention_.got_by_spinning += spinning;
    contention_.spins += spins;
  }
  void unlock() { flag_.unlock(); }
  const Contention& contention() const { return contention_; }

 private:
  Flag flag_;
  Contention contention_;  // only the holder of the lock changes it
};

unsigned sections_of(const Settings& settings) {
  return settings.quick ? 20 : 200;
}  // of each task
constexpr unsigned half_section_steps = 25'000;  // about 50 us

std::uint64_t compute(std::uint64_t state, unsigned steps) {
  for (unsigned step = 0; step < steps; ++step) next_random(state);
  return state;
}

// Another task may run in the middle of it, as when a time slice ends or I/O begins.
struct Section {
  std::uint64_t entered = 0, overlapped = 0;
  bool inside = false;
  template <class Kind>
  void enter() {
    overlapped += inside;
    inside = true;
    ++entered;
    keep(compute(1, half_section_steps));
    Kind::yield();
    keep(compute(2, half_section_steps));
    inside = false;
  }
};

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
Run run_sections(unsigned sections, Lock& lock, Totals& totals) {
  Section common;
  std::vector<Section> own(tasks);
  std::vector<Histogram> waits_ns(tasks);
  const Run run = Kind::run([&](unsigned task) {
    Section mine;  // not in the vector, where neighbours would share a cache line
    Section& section = std::is_same_v<Lock, Unguarded> ? mine : common;
    for (unsigned i = 0; i < sections; ++i) {
      const double begin_s = now_s();
      {
        const std::lock_guard held(lock);
        waits_ns[task].record(std::uint64_t((now_s() - begin_s) * 1e9));
        section.enter<Kind>();
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

template <class Kind, class Lock>
void measure_lock(const std::string& kind, const std::string& name, unsigned sections) {
  measure(join_name("fibers", kind, name), [=](Counters& counters) {
    Lock lock;
    Totals totals;
    const Run run = run_sections<Kind>(sections, lock, totals);
    counters["p99"] = double(totals.waits_ns.quantile(0.99)) * 1e-9;
    counters["cpu"] = run.cpu_s;
    counters["missing"] = double(tasks) * sections - double(totals.entered);
    counters["overlapped"] = double(totals.overlapped);
    if constexpr (std::is_same_v<Lock, Spinlock<Kind>>) {
      counters["by_spinning"] = double(lock.contention().got_by_spinning);
      counters["spins"] = double(lock.contention().spins);
    }
    return run.seconds;
  });
}

template <class Kind>
void measure_kind(const std::string& kind, unsigned sections) {
  measure_lock<Kind, Unguarded>(kind, "none", sections);
  measure_lock<Kind, typename Kind::Mutex>(kind, "mutex", sections);
  measure_lock<Kind, Spinlock<Kind>>(kind, "spinlock", sections);
}

void prepare(const Settings& settings) {
  measure_kind<Fibers>("fibers", sections_of(settings));
  measure_kind<FibersOnTwoThreads>("fibers-two", sections_of(settings));
  measure_kind<ThreadsOnOneCpu>("threads-one", sections_of(settings));
  measure_kind<Threads>("threads", sections_of(settings));
}

const std::pair<std::string, std::string> kinds[] = {
    {"fibers", "fibers on one OS thread"},
    {"fibers-two", "fibers on two OS threads, work sharing"},
    {"threads-one", "std::thread, one CPU"},
    {"threads", "std::thread, all CPUs"}};

void report(const Settings& settings, const Measurements& measured, Report& out) {
  Table& table = out.add(
      Table{"long",
            "long critical section, 5 tasks x " + number(sections_of(settings)) + " sections",
            {"tasks", "", "no lock", "mutex", "spinlock"},
            {{"there: user-level threads", "user", "1.57 s", "1.60 s", "4.74 s"}}});
  for (const auto& [kind, label] : kinds)
    for (const auto& [counter, what] :
         {std::pair{"seconds", "time"}, {"cpu", "CPU time"}, {"p99", "wait, 99 %"}})
      table.add_row(
          {label, what}, std::vector<std::string>{"none", "mutex", "spinlock"},
          [&, kind = kind, counter = std::string(counter)](const std::string& lock) -> std::string {
            if (counter == "p99" && lock == "none") return "-";
            return duration(measured.get(join_name("fibers", kind, lock), counter));
          });

  const double by_spinning_alone = measured.get("fibers/fibers/spinlock", "by_spinning").sum(),
               spins_alone = measured.get("fibers/fibers/spinlock", "spins").sum();
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
