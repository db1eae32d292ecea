#pragma once
// The search for the highest rate that a server holds: doubles until it does not, or halves until
// it does, then narrows down, then tries the answer again. Pure: the caller makes the tries.

#include <functional>
#include <string>
#include <vector>

namespace exchange::loadgen {

struct CapacityTry {
  double planned_per_s = 0, achieved_per_s = 0;
  double response_p99_ms = 0;
  double measured = 0;  // by the first condition, in the unit of its bound
  bool held = false;
  // why the client rather than the server may have failed it; empty: it did not
  std::string client_bottleneck;
};

struct Capacity {
  // held twice; 0: not even the lowest rate was held, or the search was cut short
  double requests_per_s = 0;
  std::vector<CapacityTry> tries;  // in order
  // of the closed loop before the search, which gives the first rate to try
  double closed_loop_per_s = 0, closed_loop_p99_ms = 0;

  // Why the client may be what set the limit: the lowest rate that failed did so with the client at
  // its own.
  std::string client_bottleneck() const;
};

// the rate found and the lowest that failed differ by no more than this
inline constexpr double capacity_precision = 1.03;
inline constexpr double capacity_lowest_per_s = 1, capacity_highest_per_s = 1e7;

// `attempt` runs one rate. `guess`: where to begin. What attempt() throws passes through;
// `capacity` holds the tries until then.
void find_capacity(double guess, const std::function<CapacityTry(double requests_per_s)>& attempt,
                   Capacity& capacity);

}  // namespace exchange::loadgen
