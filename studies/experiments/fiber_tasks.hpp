#pragma once
// Five tasks, as threads or as fibers, under one interface (run, yield, Mutex), and a spinlock that
// counts its spins. Thread: run() starts what it needs and waits for all of it; the rest is called
// by its tasks.

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

#include "studies/experiments/lab.hpp"
#include "studies/experiments/locks.hpp"

namespace exchange::experiments {

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
  std::uint64_t sections = 0;  // that had to wait
  std::uint64_t got_by_spinning = 0;
  std::uint64_t spins = 0;
};

// Test and test-and-set. It spins so many times, then it lets another task run: on one OS thread it
// would spin for ever otherwise.
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
  Contention contention_;  // changed by the holder of the lock
};

}  // namespace exchange::experiments
