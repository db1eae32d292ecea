#include "base/cgroup.hpp"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <sstream>

namespace exchange {

std::vector<std::string> cgroup_values(const std::string& file, const std::string& process,
                                       const std::string& mount, const std::string& controller) {
  std::string group;
  std::ifstream groups(process);
  for (std::string line; std::getline(groups, line);) {  // hierarchy:controllers:group
    const std::size_t name = line.find(':') + 1, end = line.find(':', name);
    if (end != line.npos && line.substr(name, end - name) == controller)
      group = line.substr(end + 1);
  }
  std::vector<std::string> values;
  // In a container the mount point is the group itself, and the path may lead outside of it.
  for (bool more = true; more;) {
    while (group.ends_with('/')) group.pop_back();
    more = !group.empty();
    if (std::ifstream in(mount + group + "/" + file); in)
      values.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
    group = group.substr(0, group.rfind('/') == group.npos ? 0 : group.rfind('/'));
  }
  return values;
}

std::optional<unsigned> cpus_of_quota(const std::vector<std::string>& cpu_max) {
  std::optional<unsigned> least;
  for (const std::string& text : cpu_max) {
    std::istringstream in(text);
    std::uint64_t quota = 0, period = 0;
    if (!(in >> quota >> period) || period == 0) continue;
    const auto cpus = unsigned(std::clamp<std::uint64_t>(quota / period, 1, 1u << 16));
    least = std::min(least.value_or(cpus), cpus);
  }
  return least;
}

}  // namespace exchange
