#pragma once
// A module declares the options that set its limits with a function beside them. The function calls
// `add` for each option with its flag, the field, whose value is the default, a help text, and the
// values that the field accepts. The variable of an option follows from its flag: EXCHANGE_PORT of
// --port.
//   template <class Add>
//   void add_options(CoreLimits& limits, Add add) {
//     add("--store-wait-s", limits.store_wait_s, "seconds to wait at start", Range{0, 86'400});
//   }
// Command line, --help, docs/options.md and the compose files follow from this (server/options.cpp,
// testing/unit/docs/test_written.py). A bool is a flag, an enumeration one of its enumerators.

#include <cstdint>
#include <string>
#include <vector>

namespace exchange {

// Limits a number. `unit` is the number of units of the field in one unit of the option, such as
// 1000 for a field in milliseconds and an option in seconds.
struct Range {
  std::uint64_t least = 0, most = UINT64_MAX;
  std::uint64_t unit = 1;
};

// A text must be one of these; a bool is false for the first and true for the second.
using Words = std::vector<std::string>;

// A text must be the address of a network interface.
struct IpAddress {};

// A text must be a user of this machine, by name or id.
struct UserName {};

}  // namespace exchange
