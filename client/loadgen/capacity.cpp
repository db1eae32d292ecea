#include "client/loadgen/capacity.hpp"

#include <algorithm>
#include <cmath>

namespace exchange::loadgen {
namespace {

constexpr unsigned failures_before_lowest = 3;

}  // namespace

std::string Capacity::client_bottleneck() const {
  const CapacityTry* lowest = nullptr;
  for (const CapacityTry& one : tries)
    if (!one.held && (lowest == nullptr || one.planned_per_s < lowest->planned_per_s))
      lowest = &one;
  return lowest == nullptr ? "" : lowest->client_bottleneck;
}

void find_capacity(double guess, const std::function<CapacityTry(double)>& attempt,
                   Capacity& capacity) {
  const auto holds = [&](double rate) {
    capacity.tries.push_back(attempt(rate));
    return capacity.tries.back().held;
  };
  double held = 0, failed = 0;
  unsigned failures = 0;
  for (double rate = std::clamp(guess, capacity_lowest_per_s, capacity_highest_per_s);
       held == 0 || failed == 0;) {
    if (holds(rate)) {
      held = rate;
      if (rate >= capacity_highest_per_s) break;
      rate = std::min(rate * 2, capacity_highest_per_s);
    } else {
      failed = rate;
      if (rate <= capacity_lowest_per_s) return;
      rate = std::max(rate / 2, capacity_lowest_per_s);
      if (++failures < failures_before_lowest) continue;
      // Perhaps the server holds no rate: the lowest one shows it without a dozen tries in between.
      // NOLINTNEXTLINE(misc-redundant-expression): each call measures
      if (!holds(capacity_lowest_per_s) && !holds(capacity_lowest_per_s)) return;
      held = capacity_lowest_per_s;
    }
  }
  while (failed > held * capacity_precision) {
    const double middle = std::sqrt(held * failed);
    (holds(middle) ? held : failed) = middle;
  }
  // One success may have been luck: the reported rate held twice.
  while (!holds(held)) {
    held /= capacity_precision;
    if (held < capacity_lowest_per_s) return;
  }
  capacity.requests_per_s = held;
}

}  // namespace exchange::loadgen
