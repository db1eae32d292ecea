#pragma once
// Checks the time zone of the process: TZ, or that of the machine.

namespace exchange {

// Throws std::invalid_argument if TZ does not name a time zone: the C library would then silently
// use UTC. Call it before other threads start.
void require_time_zone();

}  // namespace exchange
