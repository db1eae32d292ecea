#pragma once
// How a module declares the options that set its limits: a function beside them, which calls `add`
// for each option with its flag, the field, whose value is the default, a help text, and what the
// field may be. The variable of an option follows from its flag: EXCHANGE_PORT of --port.
//   template <class Add>
//   void add_options(CoreLimits& limits, Add add) {
//     add("--store-wait-s", limits.store_wait_s, "seconds to wait at start", Range{0, 86'400});
//   }
// Command line, --help, docs/options.md and the compose files follow from this (server/options.cpp,
// testing/unit/docs/test_options.py). A bool is a flag, an enumeration one of its enumerators.

#include <cstdint>
#include <string>
#include <vector>

namespace exchange {

// Of a number. `unit`: how many units of the field make one of the option, such as 1000 for a field
// in milliseconds and an option in seconds.
struct Range {
  std::uint64_t least = 0, most = UINT64_MAX;
  std::uint64_t unit = 1;
};

// A text is one of these; a bool is false for the first and true for the second.
using Words = std::vector<std::string>;

// A text that is the address of a network interface.
struct IpAddress {};

}  // namespace exchange
