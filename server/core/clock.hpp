#pragma once
// Time as the core sees it. An argument, never a global, so that simulation can turn it by hand.

#include "engine/ids.hpp"

namespace exchange {

class Clock {
 public:
  virtual Timestamp now() = 0;
  // Never set: for durations.
  virtual std::int64_t monotonic_ns() = 0;
  virtual void pause(std::uint32_t milliseconds) = 0;

 protected:
  ~Clock() = default;
};

// The real one.
Clock& system_clock();

}  // namespace exchange
