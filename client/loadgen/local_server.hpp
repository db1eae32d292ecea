#pragma once
// A private server for one run: the binary `server` beside this program, on a free port of
// 127.0.0.1, with a store in a temporary folder unless another is given. The destructor stops it
// and removes the folder; if this process is killed, the kernel stops the server. Thread: the one
// that constructed it, because the kernel watches that thread.
//
// And the times that it spends in each stage of a request, from its own /metrics
// (server/metrics/stages.hpp): the difference between two readings of the histograms.

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "client/connection/socket.hpp"
#include "client/loadgen/options.hpp"

namespace exchange::loadgen {

// The server did not start. what() includes its error output.
struct ServerFailed : std::runtime_error {
  using runtime_error::runtime_error;
};

struct StageLatency {
  std::string name;         // "parse", "queue", "apply", …, in the order of a request
  std::uint64_t count = 0;  // requests sampled
  double mean_us = 0, p50_us = 0, p99_us = 0;  // quantiles to the width of a bucket
};

// One reading of the stages, parsed from the Prometheus text format.
struct StageReading {
  struct Stage {
    double sum_s = 0;
    // upper bound in seconds, values not above it; the last bound is infinite
    std::vector<std::pair<double, std::uint64_t>> buckets;
  };
  std::vector<std::string> names;  // in order
  std::map<std::string, Stage> stages;
};
StageReading parse_stages_of(const std::string& prometheus_text);

std::vector<StageLatency> between(const StageReading& before, const StageReading& after);

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
  const std::string& address() const { return address_; }  // HOST:PORT or unix:PATH
  const std::optional<std::string>& http_address() const { return http_address_; }  // HOST:PORT
  // GET /metrics. Returns an empty reading if that fails: the report then has no stages.
  StageReading read_stages() const;
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
  std::string address_;
  std::string description_;
  std::optional<std::string> http_address_;
};

}  // namespace exchange::loadgen
