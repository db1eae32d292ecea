#pragma once
// The process of a program: its standard descriptors, and how much memory and CPU time it may use.
// Control groups (version 2) limit both: the process's own group, which a service manager or
// container runtime creates, and the groups around it.
// https://docs.kernel.org/admin-guide/cgroup-v2.html

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace exchange {

// Each program calls it first in main(), before it opens a file or starts a thread. Opens /dev/null
// on descriptors 0 to 2 that the caller left closed. Otherwise a file of the program gets such a
// descriptor, and printed text overwrites that file. Ignores SIGXFSZ: a write beyond the limit of
// file sizes fails with EFBIG instead of ending the process.
// Also arranges that stdout is flushed at the end of the process. If printed text could not be
// written, such as to a full disk, stderr gets `program` and the cause, and the exit status is 1.
// `program` must outlive the process.
void prepare_process(const char* program);

// Returns the texts of `file`, such as "cpu.max", in the process's group and in each group around
// it, if they can be read. `process` and `mount` are /proc/self/cgroup and the mount point of the
// groups. `controller` selects one of version 1, which has a tree for each.
std::vector<std::string> cgroup_values(const std::string& file,
                                       const std::string& process = "/proc/self/cgroup",
                                       const std::string& mount = "/sys/fs/cgroup",
                                       const std::string& controller = "");

// Returns the number of whole CPUs, at least one, that the lowest limit in the texts of cpu.max
// allows. Each text is "QUOTA PERIOD" or "max PERIOD". Returns nothing if no text sets a limit.
std::optional<unsigned> cpus_of_quota(const std::vector<std::string>& cpu_max);

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
