#pragma once
// Waits for a condition that another thread, or another program, makes true.

#include <chrono>
#include <functional>
#include <thread>

namespace exchange {

// Returns false if the condition does not hold within this time. Once it held, it is not checked
// again: it may hold only for a moment.
inline bool wait_for(const std::function<bool()>& done,
                     std::chrono::seconds time = std::chrono::seconds(10)) {
  const auto end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end) {
    if (done()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return done();
}

}  // namespace exchange
