#pragma once
// Work of a known length: a chain of multiplications that keeps one CPU busy and does not touch
// memory. It counts steps, not time, so a preempted thread has as much work left as before. Any
// thread.

#include <algorithm>
#include <cstdint>

#include "course/experiments/lab.hpp"

namespace exchange::experiments {

class Work {
 public:
  explicit Work(double seconds) : steps_(long(seconds / step_s() + 0.5)) {}
  void operator()() const { run(steps_); }

 private:
  static void run(long steps) {
    std::uint64_t x = 1;
    for (long i = 0; i < steps; ++i) {
      x = x * 6364136223846793005u + 1442695040888963407u;
      keep(x);
    }
  }
  // Takes the least of many short runs: at least one of them was not disturbed.
  static double step_s() {
    static const double measured = [] {
      constexpr long steps = 20'000;
      double least_s = 1;
      for (int run_number = 0; run_number < 500; ++run_number) {
        const double begin_s = now_s();
        run(steps);
        least_s = std::min(least_s, now_s() - begin_s);
      }
      return least_s / double(steps);
    }();
    return measured;
  }

  long steps_;
};

}  // namespace exchange::experiments
