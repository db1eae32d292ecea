#include "base/bursts.hpp"

#include <time.h>

#include <algorithm>
#include <cstdint>
#include <thread>

namespace exchange {
namespace {

thread_local Bursts* of_this_thread = nullptr;

Bursts::Nanoseconds now(clockid_t clock) {
  timespec time;
  clock_gettime(clock, &time);
  return std::chrono::seconds(time.tv_sec) + Bursts::Nanoseconds(time.tv_nsec);
}

}  // namespace

Bursts::Work::Work(Bursts& bursts, Nanoseconds spread)
    : bursts_(bursts), began_(now(CLOCK_THREAD_CPUTIME_ID)) {
  of_this_thread = &bursts;
  bursts.clock_ = now(CLOCK_MONOTONIC);
  bursts.cpu_ = began_;
  const auto bursts_and_rests = spread / std::max(bursts.last_work_, bursts.burst_);
  bursts.rest_ = bursts.burst_ * std::clamp<std::int64_t>(bursts_and_rests - 1, 0, 10);
  bursts.rests_until_ = bursts.clock_ + 4 * spread;
}

Bursts::Work::~Work() {
  bursts_.last_work_ = now(CLOCK_THREAD_CPUTIME_ID) - began_;
  bursts_.hurried_ = false;
  of_this_thread = nullptr;
}

bool Bursts::rest_if_due() { return of_this_thread != nullptr && of_this_thread->rest(); }

// The clock is cheaper to read than the CPU time, which is less: the thread may have waited.
bool Bursts::rest() {
  if (rest_ <= Nanoseconds(0) || hurried_.load(std::memory_order_relaxed)) return false;
  const Nanoseconds clock = now(CLOCK_MONOTONIC);
  if (clock - clock_ < burst_ || clock > rests_until_) return false;
  const Nanoseconds ran = now(CLOCK_THREAD_CPUTIME_ID) - cpu_;
  if (ran < burst_) {
    clock_ = clock - ran;
    return false;
  }
  std::this_thread::sleep_for(rest_);
  clock_ = now(CLOCK_MONOTONIC);
  cpu_ = now(CLOCK_THREAD_CPUTIME_ID);
  return true;
}

}  // namespace exchange
