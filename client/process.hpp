#pragma once
// What the system says of a process: CPU time, memory, CPUs it may use, descriptors it may open.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace exchange::loadgen {

// User and system time of a whole process, its ended threads included. Nothing where it is gone.
std::optional<double> cpu_seconds(int pid);
double own_cpu_seconds();
// Resident memory. Nothing where the process is gone.
std::optional<std::uint64_t> resident_bytes(int pid);

bool may_run_on(int cpu);
// Pins the calling thread, and what it starts later. Throws std::system_error.
void pin_to(const std::vector<int>& cpus);

// Raises the soft limit as far as may be needed. Returns advice where `wanted` descriptors are not to be had.
std::string raise_descriptor_limit(std::uint64_t wanted);

}  // namespace exchange::loadgen
