#pragma once
// Formats numbers for the text reports.

#include <string>

namespace exchange::loadgen {

// A report warns if a hypervisor took more than this share of the CPU time: pauses then dominate
// the latencies.
inline constexpr double stolen_cpu_share_max = 0.01;

// Returns about three significant figures, or the whole number from 100 on: "0.0123", "3.21",
// "41,230"; a dash if the value is not finite.
std::string number_text(double value);
// Returns all digits, without trailing zeros: "0.05", "1,000", "1,234.5".
std::string exact_text(double value);

}  // namespace exchange::loadgen
