#pragma once
// What a user expects of a run, such as "p99<20ms,errors<0.1%": parses text to conditions, and
// compares measured values with them. And the search for the highest rate at which a server meets
// them. Pure: the caller makes the runs.

#include <functional>
#include <string>
#include <vector>

#include "base/described.hpp"

namespace exchange::loadgen {

// Latencies are response times, stored in milliseconds; shares run from 0 to 1.
BOOST_DEFINE_FIXED_ENUM_CLASS(Measure, std::uint8_t, mean, min, p50, p75, p90, p95, p99, p99_9, max,
                              errors, rejected, rate)

struct Expectation {
  Measure measure = Measure::p99;
  bool below = true;      // false: above
  bool or_equal = false;  // <=, >=
  double bound = 0;       // ms, a share of all requests, or requests per second
  std::string text;       // as written

  // Whether `measured`, in the unit of `bound`, meets the condition.
  bool met(double measured) const;
  const char* unit() const;  // "ms", "share" or "requests/s"
};

// Parses conditions separated by commas, each MEASURE<BOUND, or with <=, > or >=. Bounds of
// latencies need a unit (us, ms, s), those of errors and rejected may have %, those of rate have no
// unit. Throws std::invalid_argument with a sentence for the user.
std::vector<Expectation> parse_expectations(const std::string& text);

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

// Searches for the highest rate that the server holds: doubles the rate until the server does not
// hold it, or halves it until the server does; then narrows the range, then tries the result again.
// `attempt` runs one rate. `guess`: the first rate to try. Exceptions of attempt() pass through;
// `capacity` then holds the tries until then.
void find_capacity(double guess, const std::function<CapacityTry(double requests_per_s)>& attempt,
                   Capacity& capacity);

}  // namespace exchange::loadgen
