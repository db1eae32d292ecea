#pragma once
// Times of a day near the current time, for timetables of servers that a test starts.

#include <cstdlib>
#include <ctime>
#include <string>

namespace exchange::testing {

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
