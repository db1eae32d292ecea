#include "core/clock.hpp"

#include <chrono>
#include <thread>

#include "metrics/stages.hpp"

namespace exchange {
namespace {

class SystemClock final : public Clock {
 public:
  Timestamp now() override {
    const auto since_epoch = std::chrono::system_clock::now().time_since_epoch();
    return {std::chrono::duration_cast<std::chrono::microseconds>(since_epoch).count()};
  }
  std::int64_t monotonic_ns() override { return exchange::monotonic_ns(); }
  void pause(std::uint32_t milliseconds) override {
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
  }
};

}  // namespace

Clock& system_clock() {
  static SystemClock clock;
  return clock;
}

}  // namespace exchange
