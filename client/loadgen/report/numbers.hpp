#pragma once
// Numbers as the reports show them to people.

#include <string>

namespace exchange::loadgen {

// A report warns if a hypervisor took more of the CPU time: pauses then shape the latencies.
inline constexpr double stolen_cpu_share_max = 0.01;

// About three significant figures, or the whole number from 100 on: "0.0123", "3.21", "41,230"; a
// dash where not finite.
std::string number_text(double value);
// All of it, without trailing zeros: "0.05", "1,000", "1,234.5".
std::string exact_text(double value);

}  // namespace exchange::loadgen
