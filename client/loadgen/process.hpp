#pragma once
// What the system reports of a process and of the machine: CPU time, memory, CPUs it may use,
// descriptors it may open.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/described.hpp"

namespace exchange::loadgen {

// What a process has used so far. Values that the system does not report are absent.
struct Usage {
  double cpu_s = 0;  // user and system time, ended threads included
  std::optional<std::uint64_t> resident_bytes;
  // Context switches: it waited, or it was made to. Of other processes without their ended threads.
  std::optional<std::uint64_t> voluntary_switches, involuntary_switches;
};
Usage own_usage();
// Nothing where the process is gone.
std::optional<Usage> usage_of(int pid);
// CPU time of a process and of all its children, ended ones included: a database with a process for
// each connection.
std::optional<Usage> usage_with_children(int pid);
// CPU time alone, cheap enough for each second.
std::optional<double> cpu_seconds(int pid);
// Seconds since the system started in which a hypervisor let this machine wait although it had work
// to do ("steal" in proc_stat(5)), the mean of all CPUs. Nothing where the system does not say.
std::optional<double> stolen_cpu_seconds();

struct Machine {
  std::string cpu, kernel;
  unsigned cpus = 0;  // online, whichever of them this process may use
  std::uint64_t memory_bytes = 0;
};
BOOST_DESCRIBE_STRUCT(Machine, (), (cpu, cpus, memory_bytes, kernel))
Machine this_machine();

// On which the calling thread may run, in ascending order.
std::vector<int> usable_cpus();
bool may_run_on(int cpu);
// Pins the calling thread, and what it starts later. Throws std::system_error.
void pin_to(const std::vector<int>& cpus);

// Raises the soft limit as far as may be needed. Returns advice where `wanted` descriptors are not
// to be had.
std::string raise_descriptor_limit(std::uint64_t wanted);

}  // namespace exchange::loadgen
