#pragma once
// What a user expects of a run, such as "p99<20ms,errors<0.1%". Parses text to conditions, and
// compares measured values with them. Pure.

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

}  // namespace exchange::loadgen
