#pragma once
// The time zone of the process: TZ, or that of the machine.

namespace exchange {

// Throws std::invalid_argument if TZ is set to something that names no time zone: the C library
// then takes UTC without a word. Before other threads.
void require_time_zone();

}  // namespace exchange
