#pragma once
// The command-line parsers and the signal handling of all client programs. Thread: main, at the
// start.

#include <string>
#include <string_view>
#include <vector>

#include "client/connection/socket.hpp"

namespace exchange::client {

// SIGINT, SIGTERM and SIGHUP set this flag once stop_on_signals() was called. That function also
// ignores SIGPIPE.
StopFlag& stop_flag();
void stop_on_signals();

// Returns digits from the clock: accounts of two runs against one store must not be the same.
std::string prefix_from_clock();

inline constexpr double duration_max_s = 1e6;  // of one run
// Reads a number that is not negative; `rest` becomes the text after it. This function and the next
// three throw std::invalid_argument.
double leading_number(std::string_view text, std::string_view& rest);
// Reads a number and its unit, in seconds: "250ms", "1.5s", "2m", "1h", "100us".
double parse_seconds(std::string_view text);
// Reads "10" (seconds), "500ms" or "2m": from 1 ms to duration_max_s.
double parse_duration(const std::string& text);

// Throws std::invalid_argument unless `text` is HOST:PORT or unix:PATH, or a list such as
// "HOST:PORT,HOST:PORT".
void check_address(const std::string& text);
void check_addresses(const std::string& list);
// Splits such a list into its parts.
std::vector<std::string> split_addresses(const std::string& list);

}  // namespace exchange::client
