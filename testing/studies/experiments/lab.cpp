#include "studies/experiments/lab.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <barrier>
#include <chrono>
#include <cmath>
#include <stdexcept>
#include <thread>

namespace exchange::experiments {

double Sample::median() const {
  std::vector<double> sorted = values;
  std::sort(sorted.begin(), sorted.end());
  const std::size_t half = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}
double Sample::low() const { return *std::min_element(values.begin(), values.end()); }
double Sample::high() const { return *std::max_element(values.begin(), values.end()); }

const Sample& Measurements::of(const std::string& name, const std::string& counter) const {
  const auto found = samples_.find(name);
  if (found == samples_.end()) throw std::out_of_range("nothing was measured as " + name);
  const auto sample = found->second.find(counter);
  if (sample == found->second.end()) throw std::out_of_range(name + " has no " + counter);
  return sample->second;
}

std::vector<Experiment>& experiments() {
  static std::vector<Experiment> all;
  return all;
}

Add::Add(double place, Experiment experiment) {
  static std::vector<double> places;  // of experiments(), ascending
  const auto at = std::upper_bound(places.begin(), places.end(), place) - places.begin();
  places.insert(places.begin() + at, place);
  experiments().insert(experiments().begin() + at, std::move(experiment));
}

void measure(const std::string& name, std::function<double(Counters&)> once) {
  benchmark::RegisterBenchmark(name.c_str(),
                               [once = std::move(once)](benchmark::State& state) {
                                 for (auto _ : state) state.SetIterationTime(once(state.counters));
                               })
      ->UseManualTime()
      ->Iterations(1)
      ->Unit(benchmark::kSecond);
}

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double run_threads(unsigned threads, const std::function<void(unsigned)>& work) {
  double begin_s = 0;
  std::barrier start(std::ptrdiff_t(threads), [&]() noexcept { begin_s = now_s(); });
  std::vector<std::thread> running;
  for (unsigned thread = 0; thread < threads; ++thread)
    running.emplace_back([&, thread] {
      start.arrive_and_wait();
      work(thread);
    });
  for (std::thread& thread : running) thread.join();
  return now_s() - begin_s;
}

CpuTime cpu_time() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return double(time.tv_sec) + double(time.tv_usec) / 1e6;
  };
  return {seconds(usage.ru_utime), seconds(usage.ru_stime)};
}

ChildResult run_child(const std::vector<std::string>& command, double seconds_max) {
  std::vector<char*> argv;
  for (const std::string& argument : command) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("pipe failed");
  const pid_t child = ::fork();
  if (child < 0) throw std::runtime_error("fork failed");
  if (child == 0) {
    ::setpgid(0, 0);
    ::dup2(ends[1], STDOUT_FILENO);
    ::dup2(ends[1], STDERR_FILENO);
    ::execv(argv[0], argv.data());
    ::_exit(127);
  }
  ::close(ends[1]);
  ChildResult result;
  const double deadline_s = now_s() + seconds_max;
  for (bool open = true; open;) {
    pollfd ready{ends[0], POLLIN, 0};
    const double left_s = deadline_s - now_s();
    if (left_s <= 0 || ::poll(&ready, 1, int(left_s * 1e3) + 1) == 0) {
      result.timed_out = true;
      ::kill(-child, SIGKILL);
      break;
    }
    char text[4096];
    const ssize_t bytes = ::read(ends[0], text, sizeof text);
    open = bytes > 0;
    if (open) result.output.append(text, std::size_t(bytes));
  }
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

std::vector<unsigned> usable_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  sched_getaffinity(0, sizeof set, &set);
  std::vector<unsigned> cpus;
  for (unsigned cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  return cpus;
}

void pin_thread(const std::vector<unsigned>& cpus) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const unsigned cpu : cpus) CPU_SET(cpu, &set);
  if (sched_setaffinity(0, sizeof set, &set) != 0)
    throw std::runtime_error("cannot pin to these CPUs");
}

std::string number(double value, int significant) {
  if (value == 0) return "0";
  const int magnitude = int(std::floor(std::log10(std::fabs(value)))) + 1;
  const bool whole = value == std::floor(value);
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", whole ? 0 : std::max(0, significant - magnitude), value);
  std::string digits = text;
  std::size_t point = digits.find('.');
  if (point == std::string::npos) point = digits.size();
  for (std::size_t at = point; at > 3 && digits[at - 4] != '-'; at -= 3)
    digits.insert(at - 3, 1, ',');
  return digits;
}

namespace {

struct Unit {
  double seconds;
  const char* name;
};
Unit unit_of(double seconds) {
  for (const Unit unit : {Unit{1, "s"}, Unit{1e-3, "ms"}, Unit{1e-6, "us"}})
    if (std::fabs(seconds) >= unit.seconds) return unit;
  return {1e-9, "ns"};
}

}  // namespace

std::string duration(double seconds) {
  const Unit unit = unit_of(seconds);
  return number(seconds / unit.seconds) + " " + unit.name;
}

std::string duration(const Sample& sample) {
  const Unit unit = unit_of(sample.median() == 0 ? sample.high() : sample.median());
  return number(sample.median() / unit.seconds) + " " + unit.name + " (" +
         number(sample.low() / unit.seconds) + "-" + number(sample.high() / unit.seconds) + ")";
}

std::string count(const Sample& sample) {
  return number(sample.median()) + " (" + number(sample.low()) + "-" + number(sample.high()) + ")";
}

std::string percent(const Sample& share) {
  return number(100 * share.median()) + " % (" + number(100 * share.low()) + "-" +
         number(100 * share.high()) + ")";
}

Point point(double x, const Sample& sample) {
  return {x, sample.median(), sample.low(), sample.high()};
}

void measure_times(unsigned repetitions, const std::string& name,
                   std::function<double(Counters&)> once) {
  benchmark::RegisterBenchmark(name.c_str(),
                               [once = std::move(once)](benchmark::State& state) {
                                 for (auto _ : state) state.SetIterationTime(once(state.counters));
                               })
      ->UseManualTime()
      ->Iterations(1)
      ->Repetitions(int(repetitions))
      ->Unit(benchmark::kSecond);
}

}  // namespace exchange::experiments
