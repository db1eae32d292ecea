#pragma once
// Waits for a condition that another thread makes true.

#include <chrono>
#include <functional>
#include <thread>

namespace exchange {

// Returns false if the condition does not hold within ten seconds. Once it held, it is not checked
// again: it may hold only for a moment.
inline bool wait_for(const std::function<bool()>& done) {
  for (int i = 0; i < 10'000; ++i) {
    if (done()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return done();
}

}  // namespace exchange
