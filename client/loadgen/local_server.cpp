#include "client/loadgen/local_server.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>
#include <sstream>
#include <system_error>
#include <thread>

#include "client/connection/stream.hpp"
#include "client/loadgen/process.hpp"

namespace exchange::loadgen {
namespace {

[[noreturn]] void fail(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

// Runs in the child, between fork and exec.
[[noreturn]] void become_server(const std::vector<std::string>& arguments,
                                const std::vector<int>& cpus, int output, int errors,
                                pid_t parent) {
  std::vector<char*> pointers;
  pointers.reserve(arguments.size() + 1);
  for (const std::string& argument : arguments)
    pointers.push_back(const_cast<char*>(argument.c_str()));
  pointers.push_back(nullptr);
  ::setpgid(0, 0);  // Ctrl-C is for this program, which then stops the server
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) ::_exit(127);
  ::dup2(output, STDOUT_FILENO);
  ::dup2(errors, STDERR_FILENO);
  try {
    if (!cpus.empty()) pin_to(cpus);
    ::execv(pointers.front(), pointers.data());
    std::fprintf(stderr, "cannot run %s: %s\n", pointers.front(), std::strerror(errno));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
  }
  ::_exit(127);
}

std::string describe_end(int status) {
  if (WIFSIGNALED(status)) return "was ended by signal " + std::to_string(WTERMSIG(status));
  return "exited with code " + std::to_string(WEXITSTATUS(status));
}

// Returns the value of a label in `name{label="value",…}`.
std::string label(const std::string& line, const std::string& name) {
  const std::string wanted = name + "=\"";
  const std::size_t begin = line.find(wanted);
  if (begin == std::string::npos) return {};
  const std::size_t value = begin + wanted.size();
  return line.substr(value, line.find('"', value) - value);
}

// Returns the value below which a share `quantile` of the counts lies; assumes an even spread
// within each bucket.
double quantile(const std::vector<std::pair<double, std::uint64_t>>& buckets, double quantile) {
  const double rank = quantile * double(buckets.back().second);
  double low = 0;
  std::uint64_t below = 0;
  for (const auto& [bound, count] : buckets) {
    if (double(count) >= rank && count > below) {
      if (bound == std::numeric_limits<double>::infinity()) return low;
      return low + (bound - low) * (rank - double(below)) / double(count - below);
    }
    low = bound;
    below = count;
  }
  return low;
}

}  // namespace

TemporaryFolder::TemporaryFolder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "loadgen-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) fail("cannot make a temporary folder");
  path_ = pattern;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

LocalServer::LocalServer(const LocalServerOptions& options, const client::StopFlag& stop_flag) {
  try {
    start(options);
    await_ready(stop_flag);
  } catch (...) {
    stop();
    throw;
  }
}

LocalServer::~LocalServer() { stop(); }

void LocalServer::start(const LocalServerOptions& options) {
  const auto binary = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "server";
  const std::string store =
      options.store.empty() ? "sqlite:" + (folder_.path() / "exchange.db").string() : options.store;
  std::vector<std::string> arguments{binary.string(),
                                     "--port",
                                     "0",
                                     "--bind",
                                     "127.0.0.1",
                                     "--policy",
                                     std::string(to_string(options.policy)),
                                     "--threads",
                                     std::to_string(options.threads),
                                     "--store",
                                     store,
                                     "--http-port",
                                     "0"};
  if (!options.operator_key.empty()) {
    const std::string file = (folder_.path() / "operator.key").string();
    std::ofstream(file) << options.operator_key << "\n";
    std::filesystem::permissions(file, std::filesystem::perms(0600));
    arguments.insert(arguments.end(), {"--auth", "--operator-key-file", file});
  }
  if (options.is_local) {
    address_ = "unix:" + (folder_.path() / "socket").string();
    arguments.insert(arguments.end(), {"--listen", address_});
  }
  int pipe[2];
  if (::pipe2(pipe, O_CLOEXEC) != 0) fail("cannot make a pipe");
  output_ = client::Descriptor(pipe[0]);
  const client::Descriptor its_output(pipe[1]);
  const client::Descriptor its_errors(
      ::open((folder_.path() / "stderr").c_str(), O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600));
  if (!its_errors) fail("cannot write to the temporary folder");
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ < 0) fail("cannot start a process");
  if (pid_ == 0)
    become_server(arguments, options.cpus, its_output.number(), its_errors.number(), parent);
}

void LocalServer::await_ready(const client::StopFlag& stop_flag) {
  std::string line;
  while (line.find('\n') == std::string::npos) {
    if (!client::wait_for(output_.number(), POLLIN, server_start_s, stop_flag))
      throw ServerFailed("the server is not ready after " + std::to_string(server_start_s) +
                         " s\n" + words());
    char bytes[512];
    const ssize_t received = ::read(output_.number(), bytes, sizeof bytes);
    if (received < 0 && errno == EINTR) continue;
    if (received <= 0) {
      reap(server_stop_s);
      throw ServerFailed("the server did not start: it " + describe_end(status_) + "\n" + words());
    }
    line.append(bytes, std::size_t(received));
  }
  line.resize(line.find('\n'));
  int read = 0;
  unsigned port = 0;
  if (std::sscanf(line.c_str(), "ready port=%u %n", &port, &read) != 1)
    throw ServerFailed("unexpected first line of the server: " + line + "\n" + words());
  if (address_.empty()) address_ = "127.0.0.1:" + std::to_string(port);
  description_ = line.substr(std::size_t(read));
  if (const std::size_t http = description_.find(" http-port="); http != std::string::npos) {
    http_address_ = "127.0.0.1:" + description_.substr(http + std::strlen(" http-port="));
    description_.resize(http);
  }
}

bool LocalServer::running() { return pid_ > 0 && !reap(0); }

// Waits up to `timeout_s` for the process to end. Returns whether it has ended.
bool LocalServer::reap(double timeout_s) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::duration<double>(timeout_s);
  while (!ended_) {
    const pid_t pid = ::waitpid(pid_, &status_, WNOHANG);
    if (pid == pid_ || (pid < 0 && errno == ECHILD)) ended_ = true;
    if (ended_ || std::chrono::steady_clock::now() >= deadline) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return ended_;
}

std::string LocalServer::stop() {
  if (pid_ <= 0) return {};
  std::string problem;
  if (reap(0)) {
    problem = "the server " + describe_end(status_) + " without being asked to";
  } else {
    ::kill(pid_, SIGTERM);
    if (!reap(server_stop_notice_s))
      std::fprintf(stderr, "waiting up to %u s for the server to stop …\n",
                   server_stop_s - server_stop_notice_s);
    if (!reap(server_stop_s - server_stop_notice_s)) {
      problem = "after the measurement the server did not stop within " +
                std::to_string(server_stop_s) + " s and was killed";
      ::kill(pid_, SIGKILL);
      reap(server_stop_s);
    } else if (!WIFEXITED(status_) || WEXITSTATUS(status_) != 0) {
      problem = "the server, asked to stop, " + describe_end(status_);
    }
  }
  pid_ = -1;
  if (!problem.empty()) problem += "\n" + words();
  return problem;
}

std::string LocalServer::words() const {
  std::ifstream file(folder_.path() / "stderr");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  constexpr std::size_t shown_max = 4'000;  // bytes: the end of its error output
  return text.size() <= shown_max ? text : "…" + text.substr(text.size() - shown_max);
}

StageReading parse_stages_of(const std::string& prometheus_text) {
  constexpr std::string_view metric = "exchange_stage_seconds";
  StageReading reading;
  std::istringstream lines(prometheus_text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(metric) || line.rfind(' ') == std::string::npos) continue;
    const std::string name = label(line, "stage");
    const char* const value = line.c_str() + line.rfind(' ') + 1;
    if (!reading.stages.contains(name)) reading.names.push_back(name);
    StageReading::Stage& stage = reading.stages[name];
    const std::string_view kind = std::string_view(line).substr(metric.size());
    if (kind.starts_with("_sum")) stage.sum_s = std::strtod(value, nullptr);
    if (!kind.starts_with("_bucket")) continue;
    const std::string bound = label(line, "le");
    stage.buckets.emplace_back(bound == "+Inf" ? std::numeric_limits<double>::infinity()
                                               : std::strtod(bound.c_str(), nullptr),
                               std::strtoull(value, nullptr, 10));
  }
  return reading;
}

StageReading LocalServer::read_stages() const {
  constexpr double timeout_s = 5;
  constexpr std::string_view end_of_metrics = "# EOF\n";
  const client::StopFlag never{false};  // reads the stages of an interrupted run too
  if (!http_address_) return {};
  try {
    const client::Address http = client::resolve(*http_address_);
    client::Stream stream(client::connect_to(http, timeout_s, never), http.text, timeout_s, never);
    return parse_stages_of(stream.send_and_receive(
        "GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
        [&](std::string_view bytes) { return bytes.ends_with(end_of_metrics); }));
  } catch (const client::Unreachable&) {
    return {};
  }
}

std::vector<StageLatency> between(const StageReading& before, const StageReading& after) {
  std::vector<StageLatency> latencies;
  for (const std::string& name : after.names) {
    StageReading::Stage stage = after.stages.at(name);
    if (const auto earlier = before.stages.find(name); earlier != before.stages.end()) {
      stage.sum_s -= earlier->second.sum_s;
      for (std::size_t i = 0; i < stage.buckets.size() && i < earlier->second.buckets.size(); ++i)
        stage.buckets[i].second -= earlier->second.buckets[i].second;
    }
    const std::uint64_t count = stage.buckets.empty() ? 0 : stage.buckets.back().second;
    if (count == 0) continue;
    latencies.push_back({name, count, stage.sum_s * 1e6 / double(count),
                         quantile(stage.buckets, 0.5) * 1e6, quantile(stage.buckets, 0.99) * 1e6});
  }
  return latencies;
}

}  // namespace exchange::loadgen
