#include "client/capacity.hpp"

#include <algorithm>
#include <cmath>

namespace exchange::loadgen {

Capacity find_capacity(double guess, const std::function<CapacityTry(double)>& attempt) {
  Capacity capacity;
  const auto holds = [&](double rate) {
    capacity.tries.push_back(attempt(rate));
    return capacity.tries.back().held;
  };
  double held = 0, failed = 0;
  for (double rate = std::clamp(guess, capacity_lowest_per_s, capacity_highest_per_s); held == 0 || failed == 0;) {
    if (holds(rate)) {
      held = rate;
      if (rate >= capacity_highest_per_s) break;
      rate = std::min(rate * 2, capacity_highest_per_s);
    } else {
      failed = rate;
      if (rate <= capacity_lowest_per_s) return capacity;
      rate = std::max(rate / 2, capacity_lowest_per_s);
    }
  }
  while (failed > held * capacity_precision) {
    const double middle = std::sqrt(held * failed);
    (holds(middle) ? held : failed) = middle;
  }
  // What held once may have been luck: what is reported held twice.
  while (!holds(held)) {
    held /= capacity_precision;
    if (held < capacity_lowest_per_s) return capacity;
  }
  capacity.requests_per_s = held;
  return capacity;
}

}  // namespace exchange::loadgen
