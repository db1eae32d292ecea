#include "base/bursts.hpp"

#include <time.h>

#include <algorithm>
#include <cstdint>
#include <thread>

namespace exchange {
namespace {

thread_local Bursts* of_this_thread = nullptr;

// Measured: with a much smaller value, late work falls further behind; with a much larger one,
// other threads wait long.
constexpr int bursts_without_rest = 8;
constexpr Bursts::Nanoseconds shortest(1);  // Linux extends it to some 50 us

Bursts::Nanoseconds now(clockid_t clock) {
  timespec time;
  clock_gettime(clock, &time);
  return std::chrono::seconds(time.tv_sec) + Bursts::Nanoseconds(time.tv_nsec);
}

}  // namespace

Bursts::Work::Work(Bursts& bursts, Nanoseconds spread) : bursts_(bursts) {
  of_this_thread = &bursts;
  bursts.clock_ = now(CLOCK_MONOTONIC);
  bursts.rested_ = Nanoseconds(0);
  bursts.clock_began_ = bursts.clock_;
  bursts.cpu_ = bursts.work_began_ = now(CLOCK_THREAD_CPUTIME_ID);
  const auto bursts_and_rests = spread / std::max(bursts.last_work_, bursts.burst_);
  bursts.rest_ = bursts.burst_ * std::clamp<std::int64_t>(bursts_and_rests - 1, 0, 10);
  bursts.rests_until_ = bursts.clock_ + 4 * spread;
}

Bursts::Work::~Work() {
  bursts_.last_work_ = now(CLOCK_THREAD_CPUTIME_ID) - bursts_.work_began_;
  bursts_.last_taken_ = bursts_.taken();
  bursts_.used_ = bursts_.clock_began_ = Nanoseconds(0);
  bursts_.hurried_ = false;
  of_this_thread = nullptr;
}

Bursts::Nanoseconds Bursts::taken() const {
  const Nanoseconds began = clock_began_;
  return began == Nanoseconds(0) ? began : now(CLOCK_MONOTONIC) - began - rested_.load();
}

bool Bursts::rest_if_due() { return of_this_thread != nullptr && of_this_thread->rest(); }

// The monotonic clock is cheaper to read than the CPU time. The CPU time may be less, because the
// thread may have waited.
bool Bursts::rest() {
  const Nanoseconds clock = now(CLOCK_MONOTONIC);
  const bool rests =
      rest_ > Nanoseconds(0) && clock <= rests_until_ && !hurried_.load(std::memory_order_relaxed);
  const Nanoseconds burst = rests ? burst_ : burst_ * bursts_without_rest;
  if (clock - clock_ < burst) return false;
  const Nanoseconds cpu = now(CLOCK_THREAD_CPUTIME_ID), ran = cpu - cpu_;
  used_.store(cpu - work_began_, std::memory_order_relaxed);
  if (ran < burst) {
    clock_ = clock - ran;
    return false;
  }
  std::this_thread::sleep_for(rests ? rest_ : shortest);
  clock_ = now(CLOCK_MONOTONIC);
  rested_.store(rested_.load() + (clock_ - clock), std::memory_order_relaxed);
  cpu_ = now(CLOCK_THREAD_CPUTIME_ID);
  return rests;
}

}  // namespace exchange
