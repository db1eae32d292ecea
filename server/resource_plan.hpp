#pragma once
// How the resources of the machine, or of the control group, are divided. Descriptors: among HTTP,
// connections that are closing, and clients. Memory: among the state of the
// exchange, clients, and rows on their way to the tables: each limit that is not set on the command
// line follows from it. All of them together leave room for the program, the caches of the store
// and the kernel's sockets. From some 8 GiB on, only the limits of the state grow.

#include <cstdint>

#include "options.hpp"

namespace exchange {

// `memory`: in bytes (usable_memory()). Lowers what would not fit, and fills in the limits of the
// state that are 0. Limits that are not 0 stay.
void plan_memory(Options& options, std::uint64_t memory);
// Takes as many descriptors as the process may have, and lowers the limits of connections to them.
// Throws std::invalid_argument if they are too few.
void plan_descriptors(Options& options);

}  // namespace exchange
