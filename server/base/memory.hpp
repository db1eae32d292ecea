#pragma once
// Computes how much memory this process may use.

#include <cstdint>

namespace exchange {

// Returns bytes: the least of the machine's memory, memory.max and memory.high of the process's
// control group and of the groups around it, the limit in version 1 of control groups, and half of
// RLIMIT_AS, because address space is also reserved for stacks and heaps.
std::uint64_t usable_memory();

// Throws std::invalid_argument if RLIMIT_AS leaves this process less than `bytes`: the server would
// start, but end with its first clients.
void require_space(std::uint64_t bytes);

// If RLIMIT_AS is set, makes all threads share two heaps of malloc(), because each heap reserves 64
// MiB of addresses. Call it before other threads start.
void share_heaps_in_limited_space();

}  // namespace exchange
