#include "client/process.hpp"

#include <sched.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <system_error>

namespace exchange::loadgen {

std::optional<double> cpu_seconds(int pid) {
  // The same sum as utime + stime of /proc/PID/stat, in nanoseconds in place of ticks of 10 ms.
  clockid_t clock{};
  timespec time{};
  if (::clock_getcpuclockid(pid, &clock) != 0 || ::clock_gettime(clock, &time) != 0) return std::nullopt;
  return double(time.tv_sec) + double(time.tv_nsec) / 1e9;
}

double own_cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return double(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) + double(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

std::optional<std::uint64_t> resident_bytes(int pid) {
  std::ifstream statm("/proc/" + std::to_string(pid) + "/statm");
  std::uint64_t total_pages = 0, resident_pages = 0;
  if (!(statm >> total_pages >> resident_pages)) return std::nullopt;
  return resident_pages * std::uint64_t(::sysconf(_SC_PAGESIZE));
}

bool may_run_on(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  return ::sched_getaffinity(0, sizeof set, &set) == 0 && CPU_ISSET(cpu, &set);
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
  return "needs " + std::to_string(wanted) + " file descriptors, but the hard limit is " + std::to_string(limit.rlim_max) +
         ": fewer --clients, or a higher limit (ulimit -Hn, LimitNOFILE= of systemd, docker run --ulimit nofile=" +
         std::to_string(wanted) + ")";
}

}  // namespace exchange::loadgen
