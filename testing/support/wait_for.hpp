#pragma once
// Waits for what another thread brings about.

#include <chrono>
#include <functional>
#include <thread>

namespace exchange {

// False if it does not hold within ten seconds. Once it held it is not asked again: it may hold for
// a moment only.
inline bool wait_for(const std::function<bool()>& done) {
  for (int i = 0; i < 10'000; ++i) {
    if (done()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return done();
}

}  // namespace exchange
