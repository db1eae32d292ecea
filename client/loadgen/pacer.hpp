#pragma once
// The times of a run: the planned times of its requests in an open loop, and its clock.

#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "client/loadgen/options.hpp"
#include "client/loadgen/random.hpp"

namespace exchange::loadgen {

// The planned times of the requests of an open-loop run. The sequence follows from the stages and
// the seed alone: it does not depend on the server or on the number of workers that share it. Pure;
// one thread at a time.
class Pacer {
 public:
  // The requests of a stage are spaced evenly; for Arrivals::poisson the gaps are exponentially
  // distributed, as if many independent users sent them.
  Pacer(std::vector<Stage> stages, Arrivals arrivals, std::uint64_t seed);

  // Returns the time of the next request, in nanoseconds from the start of the run, never
  // decreasing; nothing after the last stage.
  std::optional<std::int64_t> next();
  // The planned rate at that time; 0 after the end.
  double rate_at(double second) const;

 private:
  const std::vector<Stage> stages_;
  const Arrivals arrivals_;
  Random random_;
  std::size_t stage_ = 0;
  double stage_start_s_ = 0;
  // requests of this stage so far; for Poisson, its expected number at the last arrival
  double in_stage_ = 0;
};

// The clock of a run: the times of warm-up, measurement and end of sending, and the ticks at which
// all workers report, one each second of either part. Times are nanoseconds since the start.
// Immutable.
class Ticks {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::int64_t second = 1'000'000'000;

  Ticks(Clock::time_point start, const LoadOptions& load)
      : start_(start), warmup_(nanoseconds(load.warmup_s)) {
    double seconds = 0;
    for (const Stage& stage : load.stages) seconds += stage.seconds;
    if (load.open_loop())
      end_ = warmup_ + nanoseconds(seconds);
    else if (load.duration_s)
      end_ = warmup_ + nanoseconds(*load.duration_s);
  }

  std::int64_t now() const {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start_).count();
  }
  Clock::time_point start() const { return start_; }
  std::int64_t warmup_end() const { return warmup_; }
  // The end of sending; never, if there is no time limit.
  std::int64_t end() const { return end_; }
  // The end of tick number `tick`, from 0.
  std::int64_t end_of(std::uint64_t tick) const {
    const std::uint64_t warmup_ticks = std::uint64_t((warmup_ + second - 1) / second);
    if (tick < warmup_ticks) return std::min(std::int64_t(tick + 1) * second, warmup_);
    return warmup_ + std::int64_t(tick - warmup_ticks + 1) * second;
  }
  bool is_warmup(std::uint64_t tick) const { return end_of(tick) <= warmup_; }

 private:
  static std::int64_t nanoseconds(double seconds) { return std::int64_t(seconds * 1e9); }
  Clock::time_point start_;
  std::int64_t warmup_;
  std::int64_t end_ = std::numeric_limits<std::int64_t>::max();
};

}  // namespace exchange::loadgen
