// 5. Priority: how long does an urgent thread wait for a lock that a less important one holds?

#include <errno.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <thread>

#include "course/experiments/lab.hpp"
#include "course/experiments/locks.hpp"
#include "course/experiments/monitor.hpp"

namespace exchange::experiments {
namespace {

// Three threads on one CPU: the low one holds the lock and has work left, the middle one has much
// work and does not need the lock, the high one needs the lock. The starter starts them in that
// order.
enum Who { low, middle, high, starter };
constexpr int fifo_priority[] = {1, 2, 3, 4};  // for SCHED_FIFO

enum class Scheduling { real_time, nice };

// Sets the priority of the calling thread. Returns an errno if that is refused, else 0.
int take_priority(Scheduling scheduling, Who who) {
  if (scheduling == Scheduling::real_time) {
    sched_param parameters{};
    parameters.sched_priority = fifo_priority[who];
    return pthread_setschedparam(pthread_self(), SCHED_FIFO, &parameters);
  }
  return who != low || setpriority(PRIO_PROCESS, id_t(gettid()), 19) == 0 ? 0 : errno;
}

// Returns empty text if threads may be scheduled in this way, and with `boost` may return from nice
// 19; else what was refused, and why.
std::string refusal(Scheduling scheduling, bool boost) {
  int error = 0;
  const int ordinary = getpriority(PRIO_PROCESS, 0);
  std::thread([&] {
    error = take_priority(scheduling, scheduling == Scheduling::nice ? low : starter);
    if (error == 0 && boost && setpriority(PRIO_PROCESS, id_t(gettid()), ordinary) != 0)
      error = errno;
  }).join();
  if (error == 0) return {};
  return std::string(scheduling == Scheduling::real_time ? "SCHED_FIFO"
                     : boost                             ? "coming back from nice 19"
                                                         : "nice 19") +
         " was refused: " + std::strerror(error);
}

struct Trial {
  // the time between the low thread and the high thread getting the lock; below 0: gave up
  double acquire_s = -1;
  bool before_middle = false;  // the high thread got the lock before the middle one was done
  bool excluded = true;
};

// a section longer than a time slice of the scheduler
constexpr double section_s = 5e-3, middle_s = 40e-3, patience_s = 100e-3;
unsigned trials(const Settings& settings) { return settings.quick ? 3 : 10; }

// A spinlock whose waiter gives up after patience_s: a spinning real-time thread would never let
// another thread run on its CPU.
class PatientSpinlock : public Flag {
 public:
  bool lock(const std::atomic<bool>&) {
    const double until_s = now_s() + patience_s;
    while (!try_lock())
      if (now_s() > until_s) return false;
    return true;
  }
};

// Gives every holder the priority of the high thread, whether it needs it or not.
class CeilingMutex : public PthreadMutex {
 public:
  CeilingMutex() : PthreadMutex(PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_PROTECT, fifo_priority[high]) {}
};

// With `boost` the low thread gives itself an ordinary priority while it holds the lock.
template <class Lock>
Trial run_trial(Scheduling scheduling, bool boost) {
  Lock lock;
  const Work section(section_s), long_work(middle_s);
  const int ordinary = getpriority(PRIO_PROCESS, 0);
  std::array<Semaphore, 3> go;
  Semaphore held;
  const std::atomic<bool> never{false};
  std::atomic<int> inside{0};
  std::atomic<bool> middle_done{false};
  double held_at_s = 0;
  Trial trial;
  const auto enter = [&] { trial.excluded &= inside.fetch_add(1) == 0; };
  const auto place = [&](Who who) {
    pin_thread({usable_cpus().front()});
    ENSURE(take_priority(scheduling, who) == 0);
  };
  std::thread starting([&] {
    place(starter);
    std::thread low_one([&] {
      place(low);
      go[low].wait();
      const id_t self = id_t(gettid());
      if (boost) setpriority(PRIO_PROCESS, self, ordinary);
      lock.lock(never);
      enter();
      held_at_s = now_s();
      held.post();
      section();
      inside.fetch_sub(1);
      lock.unlock();
      if (boost) setpriority(PRIO_PROCESS, self, 19);
    });
    std::thread middle_one([&] {
      place(middle);
      go[middle].wait();
      long_work();
      middle_done = true;
    });
    std::thread high_one([&] {
      place(high);
      go[high].wait();
      if (lock.lock(never)) {
        trial.acquire_s = now_s() - held_at_s;
        trial.before_middle = !middle_done;
        enter();
        inside.fetch_sub(1);
        lock.unlock();
      }
    });
    go[low].post();
    held.wait();
    go[high].post();
    go[middle].post();
    low_one.join();
    middle_one.join();
    high_one.join();
  });
  starting.join();
  return trial;
}

struct Variant {
  const char *name, *label;
  Scheduling scheduling;
  Trial (*run)(Scheduling, bool boost);
  bool boost = false;
  bool lends = false;  // the holder certainly runs at the priority of the waiter
};
const Variant variants[] = {
    {"fifo-mutex", "SCHED_FIFO, std::mutex", Scheduling::real_time, run_trial<StdMutex>},
    {"fifo-inherit", "SCHED_FIFO, inheritance", Scheduling::real_time, run_trial<InheritingMutex>,
     false, true},
    {"fifo-ceiling", "SCHED_FIFO, ceiling", Scheduling::real_time, run_trial<CeilingMutex>, false,
     true},
    {"fifo-spin", "SCHED_FIFO, spinlock", Scheduling::real_time, run_trial<PatientSpinlock>},
    {"nice-mutex", "nice 19, std::mutex", Scheduling::nice, run_trial<StdMutex>},
    {"nice-inherit", "nice 19, inheritance", Scheduling::nice, run_trial<InheritingMutex>},
    {"nice-boost", "nice 19, holder boosts itself", Scheduling::nice, run_trial<StdMutex>, true},
    {"nice-spin", "nice 19, spinlock", Scheduling::nice, run_trial<PatientSpinlock>},
};

std::string cell(const Variant& variant) { return std::string("priority/") + variant.name; }

void prepare(const Settings& settings) {
  for (const Variant& variant : variants) {
    if (!refusal(variant.scheduling, variant.boost).empty()) continue;
    measure(cell(variant), [&variant, count = trials(settings)](Counters& counters) {
      Sample acquired;
      double before_middle = 0, not_excluded = 0;
      const double begin_s = now_s();
      for (unsigned i = 0; i < count; ++i) {
        const Trial trial = variant.run(variant.scheduling, variant.boost);
        if (trial.acquire_s >= 0) acquired.values.push_back(trial.acquire_s);
        before_middle += trial.before_middle;
        not_excluded += !trial.excluded;
      }
      counters["acquired"] = double(acquired.values.size());
      counters["acquire"] = acquired.values.empty() ? 0 : acquired.median();
      counters["worst"] = acquired.values.empty() ? 0 : acquired.high();
      counters["before_middle"] = before_middle;
      counters["not_excluded"] = not_excluded;
      return now_s() - begin_s;
    });
  }
}

void report(const Settings& settings, const Measurements& measured, Report& out) {
  const unsigned count_of_trials = trials(settings);
  Table& table = out.add(Table{
      "acquire",
      "From the low thread having the lock to the high one having it: the low one works " +
          duration(section_s) + " inside, the middle one " + duration(middle_s),
      {"priorities, lock", "median", "longest", "acquired", "before the middle one was done"}});
  for (const Variant& variant : variants) {
    if (const std::string refused = refusal(variant.scheduling, variant.boost); !refused.empty()) {
      out.notes.push_back(std::string(variant.label) + ": " + refused);
      continue;
    }
    const Named found(measured, cell(variant));
    const double all = double(count_of_trials) * double(found("acquired").values.size());
    const auto total = [&](const char* what) { return found(what).sum(); };
    const bool never = total("acquired") == 0;
    const auto of_all = [&](const char* what) {
      return number(total(what)) + " of " + number(all);
    };
    table.rows.push_back({variant.label,
                          never ? "gave up after " + duration(patience_s) : found.time("acquire"),
                          never ? "-" : duration(found("worst").high()), of_all("acquired"),
                          of_all("before_middle")});
    out.check_none(std::string(variant.label) + ": no other thread inside", total("not_excluded"),
                   "times");
    if (variant.run != run_trial<PatientSpinlock>)
      out.check(std::string(variant.label) + ": acquired in the end", total("acquired") == all,
                of_all("acquired"));
    if (variant.lends)
      out.check(
          std::string(variant.label) + ": the high one has the lock before the middle one is done",
          total("before_middle") == all, of_all("before_middle"));
  }
}

const Add add(5.2, {"priority",
                    "5. Priority: an urgent thread waits for a lock that an unimportant one holds",
                    prepare, report});

}  // namespace
}  // namespace exchange::experiments
