#pragma once
// What a user expects of a run, such as "p99<20ms,errors<0.1%": text to conditions, and conditions
// to verdicts over measured values. Pure.

#include <string>
#include <vector>

#include "base/described.hpp"

namespace exchange::loadgen {

// Latencies are response times, in milliseconds inside; shares run from 0 to 1.
BOOST_DEFINE_FIXED_ENUM_CLASS(Measure, std::uint8_t, mean, min, p50, p75, p90, p95, p99, p99_9, max,
                              errors, rejected, rate)

struct Expectation {
  Measure measure = Measure::p99;
  bool below = true;      // else above
  bool or_equal = false;  // <=, >=
  double bound = 0;       // ms, a share of all requests, or requests per second
  std::string text;       // as written

  // Whether `measured`, in the unit of `bound`, is what was expected.
  bool met(double measured) const;
  const char* unit() const;  // "ms", "share" or "requests/s"
};

// Conditions with a comma between, each MEASURE<BOUND, <=, > or >=. Bounds of latencies need a unit
// (us, ms, s), of errors and rejected may have % , of rate none. Throws std::invalid_argument with
// a sentence for people.
std::vector<Expectation> parse_expectations(const std::string& text);

}  // namespace exchange::loadgen
