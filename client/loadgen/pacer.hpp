#pragma once
// The planned times of the requests of an open-loop run. The sequence follows from the stages and
// the seed alone: it does not depend on the server or on the number of workers that share it. Pure;
// one thread at a time.

#include <cstdint>
#include <optional>
#include <vector>

#include "client/loadgen/options.hpp"
#include "client/loadgen/random.hpp"

namespace exchange::loadgen {

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

}  // namespace exchange::loadgen
