#pragma once
// Reads what the system reports about a process and the machine: CPU time, memory, usable CPUs,
// allowed descriptors.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/described.hpp"

namespace exchange::loadgen {

// The resources that a process has used so far. Values that the system does not report are absent.
struct Usage {
  double cpu_s = 0;  // user and system time, ended threads included
  std::optional<std::uint64_t> resident_bytes;
  // Context switches, voluntary (it waited) and involuntary. For other processes they exclude ended
  // threads.
  std::optional<std::uint64_t> voluntary_switches, involuntary_switches;
};
Usage own_usage();
// Returns nothing if the process has ended.
std::optional<Usage> usage_of(int pid);
// CPU time of a process and all its children, including ended ones, for a database with one process
// per connection.
std::optional<Usage> usage_with_children(int pid);
// CPU time alone: cheap enough to read each second.
std::optional<double> cpu_seconds(int pid);
// Seconds since the system started in which a hypervisor made this machine wait although it had
// work to do ("steal" in proc_stat(5)), the mean over all CPUs. Nothing if the system does not
// report it.
std::optional<double> stolen_cpu_seconds();

struct Machine {
  std::string cpu, kernel;
  unsigned cpus = 0;  // online, whichever of them this process may use
  std::uint64_t memory_bytes = 0;
};
BOOST_DESCRIBE_STRUCT(Machine, (), (cpu, cpus, memory_bytes, kernel))
Machine this_machine();

// The CPUs on which the calling thread may run, in ascending order.
std::vector<int> usable_cpus();
bool may_run_on(int cpu);
// Pins the calling thread, and the threads and processes that it starts later. Throws
// std::system_error.
void pin_to(const std::vector<int>& cpus);

// Raises the soft limit as far as needed. Returns advice if `wanted` descriptors are not available.
std::string raise_descriptor_limit(std::uint64_t wanted);

}  // namespace exchange::loadgen
