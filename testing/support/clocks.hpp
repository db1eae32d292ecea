#pragma once
// Clocks of tests: one stands still, a test sets the other; and times of a day near the current
// time, for timetables of servers that a test starts.

#include <atomic>
#include <cstdlib>
#include <ctime>
#include <string>

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

// Makes the local time of servers noon, so that the test does not run over midnight.
class Noon {
 public:
  Noon() {
    const std::time_t now = std::time(nullptr);
    std::tm utc{};
    ::gmtime_r(&now, &utc);
    ::setenv("TZ", ("NOON" + std::to_string(utc.tm_hour - 12)).c_str(), 1);
    ::tzset();
  }
  ~Noon() {
    ::unsetenv("TZ");
    ::tzset();
  }
  Noon(const Noon&) = delete;
};

inline std::string clock_time(int seconds_from_now) {
  const std::time_t time = std::time(nullptr) + seconds_from_now;
  std::tm local{};
  ::localtime_r(&time, &local);
  char text[16];
  return {text, std::strftime(text, sizeof text, "%H:%M:%S", &local)};
}

}  // namespace exchange::testing
