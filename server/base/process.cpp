#include "base/process.hpp"

#include <fcntl.h>
#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>

namespace exchange {
namespace {

const char* program_name = nullptr;

void check_output() {
  const bool had_failed = std::ferror(stdout) != 0;
  errno = 0;
  // An earlier write failed, but its cause is lost. If the cause lasts, writing another byte shows
  // it.
  if (std::fflush(stdout) == 0) {
    if (!had_failed) return;
    static_cast<void>(::write(STDOUT_FILENO, "\n", 1) < 0);
  }
  const char* const cause = errno != 0 ? std::strerror(errno) : "a part of the output is lost";
  std::fprintf(stderr, "%s: cannot write to the standard output: %s\n", program_name, cause);
  ::_exit(1);
}

// Returns the limit of the address space in bytes; RLIM_INFINITY if there is no limit.
rlim_t limit_of_space() {
  rlimit space{};
  return getrlimit(RLIMIT_AS, &space) == 0 ? space.rlim_cur : RLIM_INFINITY;
}

}  // namespace

void prepare_process(const char* program) {
  int file = 0;
  while (file <= STDERR_FILENO) {
    file = ::open("/dev/null", O_RDWR);  // the lowest descriptor that is free
    if (file < 0) break;
  }
  if (file >= 0) ::close(file);
  std::signal(SIGXFSZ, SIG_IGN);
  program_name = program;
  std::atexit(check_output);
}

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
