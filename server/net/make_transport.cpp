#include <sched.h>

#include <algorithm>

#include "base/process.hpp"
#include "net/transport.hpp"

namespace exchange {

std::unique_ptr<Transport> make_transport(const TransportParts& parts) {
  switch (parts.options.policy) {
    case Policy::thread: return make_thread_policy(parts);
    case Policy::pool: return make_pool_policy(parts);
    case Policy::loop: return make_loop_policy(parts);
  }
  return nullptr;
}

unsigned usable_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  const auto cpus = unsigned(std::max(1, CPU_COUNT(&set)));
  return std::min(cpus, cpus_of_quota(cgroup_values("cpu.max")).value_or(cpus));
}

}  // namespace exchange
