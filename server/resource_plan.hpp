#pragma once
// Divides the resources of the machine, or of the control group. Descriptors are divided among
// HTTP, closing connections, and clients. Memory is divided among the state of the exchange,
// clients, and rows on their way to the tables: each limit that is not set on the command line
// follows from it. All limits together leave room for the program, the caches of the store and the
// kernel's sockets. From about 8 GiB on, only the limits of the state grow.

#include <cstdint>

#include "options.hpp"

namespace exchange {

// `memory` is in bytes (usable_memory()). Sets the limits of the state, of connections and of
// buffered bytes that are 0; those that are not 0 stay. Lowers the other limits to what fits, and
// raises the HTTP connections if there is room.
void plan_memory(Options& options, std::uint64_t memory);
// Raises the descriptor limit as far as the process may, and lowers the limits of connections to
// it. Throws std::invalid_argument if the limit is too low.
void plan_descriptors(Options& options);

}  // namespace exchange
