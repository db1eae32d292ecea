#include "base/memory.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "base/cgroup.hpp"

namespace exchange {

std::uint64_t usable_memory() {
  std::uint64_t bytes =
      std::uint64_t(sysconf(_SC_PHYS_PAGES)) * std::uint64_t(sysconf(_SC_PAGESIZE));
  const auto apply = [&](const std::vector<std::string>& limits) {
    for (const std::string& text : limits) {
      std::istringstream in(text);  // or "max"
      if (std::uint64_t limit; in >> limit) bytes = std::min(bytes, limit);
    }
  };
  apply(cgroup_values("memory.max"));
  apply(cgroup_values("memory.high"));
  apply(cgroup_values("memory.limit_in_bytes", "/proc/self/cgroup", "/sys/fs/cgroup/memory",
                      "memory"));
  rlimit space{};
  if (getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY)
    bytes = std::min<std::uint64_t>(bytes, space.rlim_cur / 2);
  return bytes;
}

}  // namespace exchange
