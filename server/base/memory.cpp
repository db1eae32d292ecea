#include "base/memory.hpp"

#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/cgroup.hpp"

namespace exchange {

namespace {

// Returns the limit of the address space in bytes; RLIM_INFINITY if there is no limit.
rlim_t limit_of_space() {
  rlimit space{};
  return getrlimit(RLIMIT_AS, &space) == 0 ? space.rlim_cur : RLIM_INFINITY;
}

}  // namespace

void require_space(std::uint64_t bytes) {
  const rlim_t space = limit_of_space();
  if (space == RLIM_INFINITY || space >= bytes) return;
  const auto mebibytes = [](std::uint64_t of) { return std::to_string(of >> 20) + " MiB"; };
  throw std::invalid_argument("the server needs " + mebibytes(bytes) +
                              " of address space, and ulimit -v (RLIMIT_AS) leaves it " +
                              mebibytes(space));
}

void share_heaps_in_limited_space() {
  if (limit_of_space() != RLIM_INFINITY) mallopt(M_ARENA_MAX, 2);
}

std::uint64_t usable_memory() {
  std::uint64_t bytes =
      std::uint64_t(sysconf(_SC_PHYS_PAGES)) * std::uint64_t(sysconf(_SC_PAGESIZE));
  const auto apply = [&](const std::vector<std::string>& limits) {
    for (const std::string& text : limits) {
      std::istringstream in(text);  // a text may be "max"
      if (std::uint64_t limit; in >> limit) bytes = std::min(bytes, limit);
    }
  };
  apply(cgroup_values("memory.max"));
  apply(cgroup_values("memory.high"));
  apply(cgroup_values("memory.limit_in_bytes", "/proc/self/cgroup", "/sys/fs/cgroup/memory",
                      "memory"));
  const rlim_t space = limit_of_space();
  return space == RLIM_INFINITY ? bytes : std::min<std::uint64_t>(bytes, space / 2);
}

}  // namespace exchange
