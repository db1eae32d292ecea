#include "client/loadgen/process.hpp"

#include <sched.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

namespace exchange::loadgen {

std::optional<double> cpu_seconds(int pid) {
  // The same sum as utime + stime of /proc/PID/stat, in nanoseconds instead of ticks of 10 ms.
  clockid_t clock{};
  timespec time{};
  if (::clock_getcpuclockid(pid, &clock) != 0 || ::clock_gettime(clock, &time) != 0)
    return std::nullopt;
  return double(time.tv_sec) + double(time.tv_nsec) / 1e9;
}

std::optional<double> stolen_cpu_seconds() {
  std::ifstream file("/proc/stat");
  std::string label;
  double user = 0, nice = 0, system = 0, idle = 0, io_wait = 0, interrupts = 0, soft = 0, steal = 0;
  if (!(file >> label >> user >> nice >> system >> idle >> io_wait >> interrupts >> soft >> steal))
    return std::nullopt;
  const auto cpus = double(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));
  return steal / double(::sysconf(_SC_CLK_TCK)) / cpus;
}

namespace {

std::optional<std::uint64_t> resident_bytes(const std::string& process) {
  std::ifstream statm("/proc/" + process + "/statm");
  std::uint64_t total_pages = 0, resident_pages = 0;
  if (!(statm >> total_pages >> resident_pages)) return std::nullopt;
  return resident_pages * std::uint64_t(::sysconf(_SC_PAGESIZE));
}

// Returns the number after `label` at the start of a line.
std::optional<std::uint64_t> field(std::ifstream&& file, std::string_view label) {
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(label)) return std::strtoull(line.c_str() + label.size(), nullptr, 10);
  return std::nullopt;
}

struct Stat {
  int parent = 0;
  double cpu_s = 0, ended_children_cpu_s = 0;
};
std::optional<Stat> stat_of(const std::filesystem::path& process) {
  std::ifstream file(process / "stat");
  std::string line;
  if (!std::getline(file, line) || line.rfind(')') == std::string::npos) return std::nullopt;
  // the name before it may contain any characters
  std::istringstream rest(line.substr(line.rfind(')') + 1));
  std::string skipped;
  Stat stat;
  double user = 0, system = 0, children_user = 0, children_system = 0;
  rest >> skipped >> stat.parent;
  for (int i = 5; i < 14; ++i) rest >> skipped;
  if (!(rest >> user >> system >> children_user >> children_system)) return std::nullopt;
  const double ticks = double(::sysconf(_SC_CLK_TCK));
  stat.cpu_s = (user + system) / ticks;
  stat.ended_children_cpu_s = (children_user + children_system) / ticks;
  return stat;
}

}  // namespace

Usage own_usage() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return {.cpu_s = double(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                   double(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6,
          .resident_bytes = resident_bytes("self"),
          .voluntary_switches = std::uint64_t(usage.ru_nvcsw),
          .involuntary_switches = std::uint64_t(usage.ru_nivcsw)};
}

std::optional<Usage> usage_of(int pid) {
  const std::optional<double> cpu = cpu_seconds(pid);
  if (!cpu) return std::nullopt;
  Usage usage{.cpu_s = *cpu,
              .resident_bytes = resident_bytes(std::to_string(pid)),
              .voluntary_switches = 0,
              .involuntary_switches = 0};
  std::error_code error;
  for (const auto& thread :
       std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/task", error)) {
    *usage.voluntary_switches +=
        field(std::ifstream(thread.path() / "status"), "voluntary_ctxt_switches:").value_or(0);
    *usage.involuntary_switches +=
        field(std::ifstream(thread.path() / "status"), "nonvoluntary_ctxt_switches:").value_or(0);
  }
  return usage;
}

std::optional<Usage> usage_with_children(int pid) {
  const std::optional<Stat> parent = stat_of("/proc/" + std::to_string(pid));
  if (!parent) return std::nullopt;
  Usage usage{.cpu_s = parent->cpu_s + parent->ended_children_cpu_s};
  std::error_code error;
  for (const auto& process : std::filesystem::directory_iterator("/proc", error)) {
    if (process.path().filename().string().find_first_not_of("0123456789") != std::string::npos)
      continue;
    const std::optional<Stat> child = stat_of(process.path());
    if (child && child->parent == pid) usage.cpu_s += child->cpu_s + child->ended_children_cpu_s;
  }
  return usage;
}

Machine this_machine() {
  Machine machine;
  std::ifstream cpuinfo("/proc/cpuinfo");
  for (std::string line; machine.cpu.empty() && std::getline(cpuinfo, line);)
    if (line.starts_with("model name"))
      machine.cpu = line.substr(std::min(line.size(), line.find(':') + 2));
  machine.memory_bytes = field(std::ifstream("/proc/meminfo"), "MemTotal:").value_or(0) * 1024;
  utsname names{};
  if (::uname(&names) == 0) machine.kernel = names.release;
  machine.cpus = unsigned(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));
  return machine;
}

std::vector<int> usable_cpus() {
  std::vector<int> cpus;
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  return cpus;
}

bool may_run_on(int cpu) {
  const std::vector<int> cpus = usable_cpus();
  return std::find(cpus.begin(), cpus.end(), cpu) != cpus.end();
}

void pin_to(const std::vector<int>& cpus) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : cpus) CPU_SET(cpu, &set);
  if (::sched_setaffinity(0, sizeof set, &set) != 0)
    throw std::system_error(errno, std::generic_category(), "cannot run on the CPUs asked for");
}

std::string raise_descriptor_limit(std::uint64_t wanted) {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_cur < wanted) {
    limit.rlim_cur = std::min<rlim_t>(wanted, limit.rlim_max);
    ::setrlimit(RLIMIT_NOFILE, &limit);
    ::getrlimit(RLIMIT_NOFILE, &limit);
  }
  if (limit.rlim_cur >= wanted) return {};
  return "needs " + std::to_string(wanted) + " file descriptors, but the hard limit is " +
         std::to_string(limit.rlim_max) +
         ": fewer --clients or --idle, or a higher limit (ulimit -Hn, LimitNOFILE= of systemd, "
         "docker run --ulimit nofile=" +
         std::to_string(wanted) + ")";
}

}  // namespace exchange::loadgen
