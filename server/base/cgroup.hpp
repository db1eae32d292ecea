#pragma once
// The limits that control groups (version 2) set for this process: those of its own group, which a
// service manager or container runtime creates, and of the groups around it.
// https://docs.kernel.org/admin-guide/cgroup-v2.html

#include <optional>
#include <string>
#include <vector>

namespace exchange {

// The texts of `file`, such as "cpu.max", in the process's group and in each one around it, as far
// as they can be read. `process`, `mount`: /proc/self/cgroup and where the groups are mounted.
// `controller`: of version 1, which has a tree for each.
std::vector<std::string> cgroup_values(const std::string& file,
                                       const std::string& process = "/proc/self/cgroup",
                                       const std::string& mount = "/sys/fs/cgroup",
                                       const std::string& controller = "");

// Of texts of cpu.max, "QUOTA PERIOD" or "max PERIOD": the whole CPUs that the least of them
// allows, at least one; nothing if none limits.
std::optional<unsigned> cpus_of_quota(const std::vector<std::string>& cpu_max);

}  // namespace exchange
