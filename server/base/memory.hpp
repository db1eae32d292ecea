#pragma once
// How much memory this process may use.

#include <cstdint>

namespace exchange {

// In bytes: the least of the machine's memory, memory.max and memory.high of the process's control
// group and the groups around it, the limit of version 1 of these, and half of RLIMIT_AS, since
// address space is also reserved for stacks and heaps.
std::uint64_t usable_memory();

// Throws std::invalid_argument if RLIMIT_AS leaves this process less than that: it would start, and
// end with its first clients.
void require_space(std::uint64_t bytes);

// If RLIMIT_AS is set, all threads share two heaps of malloc(), each of which reserves 64 MiB of
// addresses. Before there are threads.
void share_heaps_in_limited_space();

}  // namespace exchange
