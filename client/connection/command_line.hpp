#pragma once
// What the client programs share on the command line and as processes. Thread: main, at the start.

#include <string>
#include <string_view>

#include "client/connection/socket.hpp"

namespace exchange::client {

// Set by SIGINT, SIGTERM and SIGHUP once stop_on_signals() was called, which also ignores SIGPIPE.
StopFlag& stop_flag();
void stop_on_signals();

// Digits from the clock: accounts of two runs against one store must not be the same.
std::string prefix_from_clock();

inline constexpr double duration_max_s = 1e6;  // of a run
// A number that is not negative, and the text after it. Throws std::invalid_argument, as do the
// others.
double leading_number(std::string_view text, std::string_view& rest);
// A number and its unit, in seconds: "250ms", "1.5s", "2m", "1h", "100us".
double parse_seconds(std::string_view text);
// "10" (seconds), "500ms", "2m": from 1 ms to duration_max_s.
double parse_duration(const std::string& text);

// Throws unless this is HOST:PORT.
void check_address(const std::string& text);

}  // namespace exchange::client
