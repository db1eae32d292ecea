#pragma once
// Clock gives the core its time. It is passed as an argument, so that the simulation can supply
// virtual time.

#include "engine/ids.hpp"

namespace exchange {

class Clock {
 public:
  virtual Timestamp now() = 0;
  // This clock is never set back; it is for durations.
  virtual std::int64_t monotonic_ns() = 0;
  virtual void pause(std::uint32_t milliseconds) = 0;

 protected:
  ~Clock() = default;
};

// The clock of the operating system. Any thread.
Clock& system_clock();

}  // namespace exchange
