#pragma once
// The search for the highest rate that a server holds. It doubles the rate until the server does
// not hold it, or halves it until the server does; then it narrows the range, then tries the result
// again. Pure: the caller makes the tries.

#include <functional>
#include <string>
#include <vector>

namespace exchange::loadgen {

struct CapacityTry {
  double planned_per_s = 0, achieved_per_s = 0;
  double response_p99_ms = 0;
  double measured = 0;  // by the first condition, in the unit of its bound
  bool held = false;
  // why the client rather than the server may have caused a failure; empty: it did not
  std::string client_bottleneck;
};

struct Capacity {
  // this rate held twice; 0: not even the lowest rate held, or the search was cut short
  double requests_per_s = 0;
  std::vector<CapacityTry> tries;  // in order
  // results of the closed loop before the search, which gives the first rate to try
  double closed_loop_per_s = 0, closed_loop_p99_ms = 0;

  // Returns why the client may have set the limit: in the lowest try that failed, the client was at
  // its own limit.
  std::string client_bottleneck() const;
};

// the ratio of the lowest rate that failed to the rate found is at most this
inline constexpr double capacity_precision = 1.03;
inline constexpr double capacity_lowest_per_s = 1, capacity_highest_per_s = 1e7;

// `attempt` runs one rate. `guess`: the first rate to try. Exceptions of attempt() pass through;
// `capacity` then holds the tries until then.
void find_capacity(double guess, const std::function<CapacityTry(double requests_per_s)>& attempt,
                   Capacity& capacity);

}  // namespace exchange::loadgen
