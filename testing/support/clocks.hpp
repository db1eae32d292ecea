#pragma once
// Clocks of tests: one stands still, a test sets the other.

#include <atomic>

#include "core/clock.hpp"

namespace exchange::testing {

class FixedClock final : public Clock {
 public:
  static constexpr std::int64_t seconds = 1'700'000'000;
  Timestamp now() override { return {seconds * 1'000'000 + 999'999}; }
  std::int64_t monotonic_ns() override { return 0; }
  void pause(std::uint32_t milliseconds) override { system_clock().pause(milliseconds); }
};

class ManualClock final : public Clock {
 public:
  Timestamp now() override { return {time_us}; }
  std::int64_t monotonic_ns() override { return time_us * 1'000; }
  void pause(std::uint32_t milliseconds) override { time_us += milliseconds * 1'000; }
  std::atomic<std::int64_t> time_us{1'000'000'000};
};

}  // namespace exchange::testing
