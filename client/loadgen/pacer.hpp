#pragma once
// When the requests of an open-loop run are planned: a sequence of times that follows from the
// stages and the seed alone, whatever the server does and however many workers share it. Pure; one
// thread at a time.

#include <cstdint>
#include <optional>
#include <vector>

#include "client/loadgen/options.hpp"
#include "client/loadgen/random.hpp"

namespace exchange::loadgen {

class Pacer {
 public:
  // A stage's requests are spaced evenly, or for Arrivals::poisson by exponentially distributed
  // gaps, as many independent users would send them.
  Pacer(std::vector<Stage> stages, Arrivals arrivals, std::uint64_t seed);

  // Of the next request, in nanoseconds from the start of the run, never falling; nothing after the
  // last stage.
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

}  // namespace exchange::loadgen
