#pragma once
// A private server for one run: the binary `server` beside this program, on a free port of
// 127.0.0.1, with a store in a temporary folder unless another is given. The destructor stops it
// and removes the folder; if this process is killed, the kernel stops the server. Thread: the one
// that constructed it, because the kernel watches that thread.

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>

#include "client/connection/socket.hpp"
#include "client/loadgen/options.hpp"

namespace exchange::loadgen {

// The server did not start. what() includes its error output.
struct ServerFailed : std::runtime_error {
  using runtime_error::runtime_error;
};

class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

class LocalServer {
 public:
  // Returns once the server accepts clients. Throws ServerFailed, Interrupted.
  LocalServer(const LocalServerOptions& options, const client::StopFlag& stop);
  ~LocalServer();
  LocalServer(const LocalServer&) = delete;

  int pid() const { return pid_; }
  std::string address() const;
  // The address of its metrics.
  const std::optional<std::string>& http_address() const { return http_address_; }
  // Its ready line, after the port: "policy=pool threads=2 …".
  const std::string& description() const { return description_; }
  // False once the server has ended by itself.
  bool running();
  // Sends SIGTERM and waits; sends SIGKILL after server_stop_s. Returns the error, if there was
  // one, with what the server wrote to stderr.
  std::string stop();

 private:
  void start(const LocalServerOptions& options);
  void await_ready(const client::StopFlag& stop);
  bool reap(double timeout_s);
  std::string words() const;  // what it wrote to stderr

  TemporaryFolder folder_;
  client::Descriptor output_;  // its stdout
  pid_t pid_ = -1;
  bool ended_ = false;
  int status_ = 0;  // from waitpid, once ended_
  unsigned port_ = 0;
  std::string description_;
  std::optional<std::string> http_address_;
};

}  // namespace exchange::loadgen
