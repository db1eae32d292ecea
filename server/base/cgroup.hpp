#pragma once
// The limits that control groups (version 2) set for this process: those of its own group, which a
// service manager or container runtime creates, and of the groups around it.
// https://docs.kernel.org/admin-guide/cgroup-v2.html

#include <optional>
#include <string>
#include <vector>

namespace exchange {

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

}  // namespace exchange
