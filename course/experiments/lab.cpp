#include "course/experiments/lab.hpp"

#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <barrier>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <iomanip>
#include <numeric>
#include <optional>
#include <random>
#include <sstream>
#include <stdexcept>
#include <system_error>
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
double Sample::sum() const { return std::accumulate(values.begin(), values.end(), 0.0); }
double Sample::worst() const {
  double worst = 0;
  for (const double value : values) worst = std::max(worst, std::fabs(value));
  return worst;
}
Sample operator*(Sample sample, double factor) {
  for (double& value : sample.values) value *= factor;
  return sample;
}

const Sample& Measurements::get(const std::string& name, const std::string& counter) const {
  const auto found = samples_.find(name);
  if (found == samples_.end()) throw std::out_of_range("nothing was measured as " + name);
  const auto sample = found->second.find(counter);
  if (sample == found->second.end()) throw std::out_of_range(name + " has no " + counter);
  return sample->second;
}

Sample Measurements::all(const std::string& prefix, const std::string& counter) const {
  Sample all;
  for (auto at = samples_.lower_bound(prefix);
       at != samples_.end() && at->first.starts_with(prefix); ++at)
    if (const auto found = at->second.find(counter); found != at->second.end())
      all.values.insert(all.values.end(), found->second.values.begin(), found->second.values.end());
  return all;
}

void Report::check_none(std::string what, double count, const std::string& seen) {
  check(std::move(what), count == 0, number(count) + " " + seen);
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

namespace {

struct Measurement {
  std::string name;
  std::function<double(Counters&)> once;
  unsigned repetitions;
};
std::vector<Measurement> registered;

}  // namespace

void measure(const std::string& name, std::function<double(Counters&)> once, unsigned repetitions) {
  registered.push_back({name, std::move(once), repetitions});
}

Measurements run_measurements(const Settings& settings) {
  std::vector<const Measurement*> order;
  for (const Measurement& one : registered)
    order.insert(order.end(), one.repetitions > 0 ? one.repetitions : settings.repetitions, &one);
  std::shuffle(order.begin(), order.end(), std::mt19937_64(settings.seed));
  const bool terminal = ::isatty(STDERR_FILENO) == 1;
  Measurements measured;
  for (const Measurement* one : order) {
    if (terminal) std::fprintf(stderr, "\r\033[K%s", one->name.c_str());
    Counters counters;
    measured.add(one->name, "seconds", one->once(counters));
    for (const auto& [counter, value] : counters) measured.add(one->name, counter, value);
  }
  if (terminal) std::fprintf(stderr, "\r\033[K");
  registered.clear();
  return measured;
}

void need(bool done, const std::string& what) {
  if (!done) throw std::system_error(errno, std::generic_category(), what);
}

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

namespace {

double cpu_now_s() {
  const auto seconds = [](const timeval& time) {
    return double(time.tv_sec) + double(time.tv_usec) / 1e6;
  };
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

}  // namespace

Meter::Meter() : cpu_before_s_(cpu_now_s()), begin_s_(now_s()) {}

Run Meter::stop() const {
  const double seconds = now_s() - begin_s_;
  return {seconds, cpu_now_s() - cpu_before_s_};
}

Run run_threads(unsigned threads, const std::function<void(unsigned)>& work) {
  return run_window(threads, 0,
                    [&](unsigned thread, const std::function<void()>& begin, const Over&) {
                      begin();
                      work(thread);
                    });
}

Run run_window(unsigned threads, double window_s,
               const std::function<void(unsigned, const std::function<void()>&, const Over&)>& work,
               const std::function<void()>& at_end) {
  Over over{false};
  std::optional<Meter> meter;
  std::barrier start(std::ptrdiff_t(threads) + 1, [&]() noexcept { meter.emplace(); });
  const std::function<void()> begin = [&] { start.arrive_and_wait(); };
  std::vector<std::thread> running;
  for (unsigned thread = 0; thread < threads; ++thread)
    running.emplace_back([&, thread] { work(thread, begin, over); });
  begin();
  if (window_s > 0) {
    std::this_thread::sleep_for(std::chrono::duration<double>(window_s));
    over = true;
    if (at_end) at_end();
  }
  for (std::thread& thread : running) thread.join();
  return meter->stop();
}

namespace {

void work(long steps) {
  std::uint64_t x = 1;
  for (long i = 0; i < steps; ++i) {
    x = x * 6364136223846793005u + 1442695040888963407u;
    keep(x);
  }
}

// Takes the least of many short runs: at least one of them was not disturbed.
double time_one_step() {
  constexpr long steps = 20'000;
  double least_s = 1;
  for (int run_number = 0; run_number < 500; ++run_number) {
    const double begin_s = now_s();
    work(steps);
    least_s = std::min(least_s, now_s() - begin_s);
  }
  return least_s / double(steps);
}

}  // namespace

Work::Work(double seconds) {
  static const double step_s = time_one_step();
  steps_ = long(seconds / step_s + 0.5);
}

void Work::operator()() const { work(steps_); }

ChildResult run_child(const std::vector<std::string>& command, unsigned seconds_max) {
  std::ostringstream line;
  line << "exec timeout -s KILL " << seconds_max;
  for (const std::string& word : command) line << " " << std::quoted(word, '\'');
  line << " 2>&1";
  std::FILE* const output = ::popen(line.str().c_str(), "r");
  need(output != nullptr, "popen");
  ChildResult result;
  char text[4096];
  for (std::size_t bytes; (bytes = std::fread(text, 1, sizeof text, output)) > 0;)
    result.output.append(text, bytes);
  const int status = ::pclose(output);
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
  need(sched_setaffinity(0, sizeof set, &set) == 0, "cannot pin to these CPUs");
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

namespace {

std::string spread(const Sample& sample, double factor, const std::string& unit = "") {
  return number(sample.median() * factor) + unit + " (" + number(sample.low() * factor) + "-" +
         number(sample.high() * factor) + ")";
}

}  // namespace

std::string duration(const Sample& sample) {
  const Unit unit = unit_of(sample.median() == 0 ? sample.high() : sample.median());
  return spread(sample, 1 / unit.seconds, std::string(" ") + unit.name);
}

std::string count(const Sample& sample) { return spread(sample, 1); }

std::string percent(const Sample& share) { return spread(share, 100, " %"); }

std::string threads_text(unsigned threads) {
  return std::to_string(threads) + (threads == 1 ? " thread" : " threads");
}

std::string temporary_file_system() {
  const std::string folder = std::filesystem::temp_directory_path().string();
  const ChildResult found = run_child({"findmnt", "-n", "-o", "FSTYPE", "--target", folder}, 10);
  return found.status == 0 ? found.output.substr(0, found.output.find('\n')) : "unknown";
}

std::string Named::time(const std::string& counter) const { return duration((*this)(counter)); }
std::string Named::median_time(const std::string& counter) const {
  return duration(median(counter));
}

}  // namespace exchange::experiments
