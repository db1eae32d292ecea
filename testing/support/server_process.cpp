#include "support/server_process.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <utility>

namespace exchange::testing {
namespace {

// `err` below 0: without stdin and stderr.
pid_t spawn(const std::string& program, std::vector<std::string> arguments, int out, int err,
            rlim_t descriptors = 0) {
  arguments.insert(
      arguments.begin(),
      (std::filesystem::read_symlink("/proc/self/exe").parent_path() / program).string());
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  ::setenv("EXCHANGE_HTTP_PORT", "off", 1);  // except for those that ask for it
  const pid_t pid = ::fork();
  if (pid < 0) throw std::runtime_error("fork failed");
  if (pid == 0) {
    const rlimit few{descriptors, descriptors};
    if (descriptors > 0) setrlimit(RLIMIT_NOFILE, &few);
    ::dup2(out, STDOUT_FILENO);
    if (err < 0) {
      ::close(STDIN_FILENO);
      ::close(STDERR_FILENO);
    } else {
      ::dup2(err, STDERR_FILENO);
    }
    ::execv(argv[0], argv.data());
    ::_exit(127);
  }
  return pid;
}

int exit_status(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// Waits for the end of a child; returns its exit status.
int reap(pid_t& pid) {
  int status = 0;
  ::waitpid(std::exchange(pid, -1), &status, 0);
  return exit_status(status);
}

int open_log(const std::string& path) {
  return ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

unsigned number_after(const std::string& line, const std::string& name) {
  const std::size_t at = line.find(name);
  if (at == std::string::npos) throw std::runtime_error("no " + name + " in: " + line);
  return unsigned(std::stoul(line.substr(at + name.size())));
}

}  // namespace

ServerProcess::ServerProcess(std::vector<std::string> arguments, const Start& start) {
  arguments.insert(arguments.end(), {"--port", std::to_string(start.port)});
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("pipe failed");
  const int log_file = start.without_streams ? -1 : open_log(folder_ / "log");
  pid_ = spawn("server", std::move(arguments), ends[1], log_file, start.descriptors);
  ::close(ends[1]);
  ::close(log_file);
  char c;
  while (::read(ends[0], &c, 1) == 1 && c != '\n') ready_line_ += c;
  ::close(ends[0]);
  if (!ready_line_.starts_with("ready ")) {
    const int status = reap(pid_);
    throw std::runtime_error("the server did not come up (status " + std::to_string(status) +
                             "):\n" + this->log());
  }
  port_ = number_after(ready_line_, " port=");
}

unsigned ServerProcess::http_port() const { return number_after(ready_line_, " http-port="); }

ServerProcess::~ServerProcess() { kill(); }

void ServerProcess::kill() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  reap(pid_);
}

int ServerProcess::stop() {
  ::kill(pid_, SIGTERM);
  return reap(pid_);
}

std::optional<int> ServerProcess::ended() {
  int status = 0;
  if (pid_ > 0 && ::waitpid(pid_, &status, WNOHANG) == pid_) {
    pid_ = -1;
    status_ = exit_status(status);
  }
  return status_;
}

std::string ServerProcess::log() const { return contents(folder_ / "log"); }

ChildProcess::ChildProcess(const std::string& name, const std::vector<std::string>& arguments) {
  const int file = open_log(folder_ / "output");
  pid_ = spawn(name, arguments, file, file);
  ::close(file);
}

ChildProcess::~ChildProcess() {
  if (pid_ > 0) end_with(SIGKILL);
}

int ChildProcess::wait() { return reap(pid_); }

int ChildProcess::end_with(int signal) {
  ::kill(pid_, signal);
  return wait();
}

std::string ChildProcess::output() const { return contents(folder_ / "output"); }

RunResult run_program(const std::string& name, const std::vector<std::string>& arguments) {
  const TemporaryFolder folder;
  const int file = open_log(folder / "output");
  const pid_t pid = spawn(name, arguments, file, file);
  ::close(file);
  int status = 0;
  rusage usage{};
  ::wait4(pid, &status, 0, &usage);
  return {exit_status(status), contents(folder / "output"), usage.ru_maxrss};
}

}  // namespace exchange::testing
