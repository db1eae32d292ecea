#pragma once
// The real server as a child process, and a small blocking client for it.

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace exchange::testing {

// An empty file, removed by the destructor.
class TemporaryFile {
 public:
  TemporaryFile();
  ~TemporaryFile();
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

class ServerProcess {
 public:
  // Starts `server --port 0` (or `port`) with these arguments and waits for its ready line.
  // Throws std::runtime_error, with what it wrote, where it does not come up.
  explicit ServerProcess(std::vector<std::string> arguments, unsigned port = 0);
  ~ServerProcess();
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  unsigned port() const { return port_; }
  pid_t pid() const { return pid_; }
  const std::string& ready_line() const { return ready_line_; }
  // SIGKILL, as a power cut of the process.
  void kill();
  // SIGTERM; returns the exit status (128 + signal where it was killed).
  int stop();
  // The exit status where it has ended by itself, or somebody else ended it.
  std::optional<int> ended();
  // What it has written to stderr.
  std::string log() const;

 private:
  int wait();

  pid_t pid_ = -1;
  std::optional<int> status_;
  unsigned port_ = 0;
  std::string ready_line_;
  const TemporaryFile log_;
};

// Runs the server to its end with these arguments; returns exit status and output (stdout and
// stderr).
struct RunResult {
  int status;
  std::string output;
  long memory_kib = 0;  // resident, at most
};
RunResult run_server(const std::vector<std::string>& arguments);
// The same for another program beside it.
RunResult run_program(const std::string& name, const std::vector<std::string>& arguments);

class Client {
 public:
  // Throws std::runtime_error where the connection is refused.
  explicit Client(unsigned port);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // One request and its reply; empty where the connection ended before the reply was complete.
  std::string request(const std::string& xml);
  bool send_raw(const std::string& bytes);
  // Up to the end of one reply document; empty where the connection ended before.
  std::string receive();
  // Everything to the end of the stream.
  std::string receive_all();
  void half_close();

 private:
  int socket_ = -1;
  std::string buffer_;
};

// The value of the first attribute `name` in `xml`, from `from` on; empty where there is none.
std::string attribute(const std::string& xml, const std::string& name, std::size_t from = 0);

}  // namespace exchange::testing
