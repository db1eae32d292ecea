#pragma once
// The server program as a child process, and other programs of the build.

#include <sys/types.h>

#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "support/folder.hpp"

namespace exchange::testing {

// Sets a variable of the environment, for processes that are started in its scope.
class Environment {
 public:
  Environment(const char* name, const std::string& value) : name_(name) {
    ::setenv(name, value.c_str(), 1);
  }
  ~Environment() { ::unsetenv(name_); }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  const char* const name_;
};

class ServerProcess {
 public:
  struct Start {
    unsigned port = 0;
    bool without_streams = false;  // without stdin and stderr
    unsigned descriptors = 0;      // the limit; 0: that of this process
  };
  // Starts `server` with these arguments and waits for its ready line.
  // Throws std::runtime_error, with its log, if it does not come up.
  ServerProcess(std::vector<std::string> arguments, const Start& start);
  explicit ServerProcess(std::vector<std::string> arguments, unsigned port = 0)
      : ServerProcess(std::move(arguments), Start{.port = port}) {}
  ~ServerProcess();
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  unsigned port() const { return port_; }
  pid_t pid() const { return pid_; }
  // Requires: the server was started with --http-port 0.
  unsigned http_port() const;
  const std::string& ready_line() const { return ready_line_; }
  // Sends SIGKILL, like a power cut of the process.
  void kill();
  // Sends SIGTERM; returns the exit status (128 + signal if the server was killed).
  int stop();
  // Returns the exit status if the server has ended, by itself or from outside.
  std::optional<int> ended();
  // Returns what the server has written to stderr.
  std::string log() const;

 private:
  pid_t pid_ = -1;
  std::optional<int> status_;
  unsigned port_ = 0;
  std::string ready_line_;
  const TemporaryFolder folder_;  // of its log
};

// Another program of the build as a child process, with stdout and stderr in a file.
class ChildProcess {
 public:
  ChildProcess(const std::string& name, const std::vector<std::string>& arguments);
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  // Waits, and returns the exit status (128 + signal if it was killed).
  int wait();
  int end_with(int signal);
  std::string output() const;

 private:
  const TemporaryFolder folder_;
  pid_t pid_;
};

// Runs a program of the build to its end; returns exit status and output (stdout and stderr).
struct RunResult {
  int status;
  std::string output;
  long memory_kib = 0;  // resident, at most
};
RunResult run_program(const std::string& name, const std::vector<std::string>& arguments);

}  // namespace exchange::testing
