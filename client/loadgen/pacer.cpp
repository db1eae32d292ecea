#include "client/loadgen/pacer.hpp"

#include <cmath>

namespace exchange::loadgen {

Pacer::Pacer(std::vector<Stage> stages, Arrivals arrivals, std::uint64_t seed)
    : stages_(std::move(stages)), arrivals_(arrivals), random_(seed, UINT64_MAX) {}

std::optional<std::int64_t> Pacer::next() {
  while (stage_ < stages_.size()) {
    const Stage& stage = stages_[stage_];
    double at = in_stage_;
    if (arrivals_ == Arrivals::poisson) {
      // in (0, 1)
      const double uniform = (double(random_.next() >> 11) + 0.5) / 9'007'199'254'740'992.0;
      at -= std::log(uniform);
    }
    // The margin is half a millionth of a request: 0.1 s at 30 per second is 3 requests, whatever
    // the rounding.
    if (at < stage.seconds * stage.requests_per_s - 5e-7) {
      in_stage_ = arrivals_ == Arrivals::poisson ? at : at + 1;
      return std::int64_t((stage_start_s_ + at / stage.requests_per_s) * 1e9);
    }
    stage_start_s_ += stage.seconds;
    in_stage_ = 0;
    ++stage_;
  }
  return std::nullopt;
}

double Pacer::rate_at(double second) const {
  for (const Stage& stage : stages_) {
    if (second < stage.seconds) return stage.requests_per_s;
    second -= stage.seconds;
  }
  return 0;
}

}  // namespace exchange::loadgen
