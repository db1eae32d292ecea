#pragma once
// Runs one load after another against one server: a private one, which it starts and stops, or one
// that already runs. Thread: main.

#include <memory>
#include <string>
#include <vector>

#include "client/loadgen/audit/audit.hpp"
#include "client/loadgen/fleet.hpp"
#include "client/loadgen/local_server.hpp"

namespace exchange::loadgen {

// The line on a terminal that shows the progress of a run, rewritten each second.
class Progress {
 public:
  // `live`: stderr is a terminal; otherwise nothing is shown.
  explicit Progress(bool live) : live_(live) {}
  ~Progress() { clear(); }
  void show(const Second& second, const Counts& so_far, double share_done);
  // Shows what the program does between runs.
  void say(const std::string& text);
  // Removes the live line before other output is written.
  void clear();

 private:
  void write(const std::string& text);
  const bool live_;
  bool shown_ = false;
};

class Bench {
 public:
  // `options` must outlive the Bench. Throws ServerFailed, client::Unreachable,
  // client::Interrupted.
  explicit Bench(const Options& options);

  // Returns the digits that start the ids of this run's accounts, few if possible: other servers
  // may keep ids in 32 bits. Creates an account with this id, so that no other run takes them.
  // Throws what the constructor throws.
  std::string unused_prefix();
  // Runs the load as given, with its own accounts. Throws what the constructor throws, and the
  // errors of a failed set-up.
  RunResult run(const LoadOptions& load, const Workload& workload);
  // Audits a run. If the server stops answering, that is a finding too.
  AuditResult audit_history(const Workload& workload, RunResult& result);
  // Runs a closed loop for a first guess, then open loops until the rate is found. `last`: the run
  // of the last try, with the wrong answers of all tries. If the search is interrupted or the
  // server becomes unavailable, the tries until then are kept.
  Capacity search_capacity(LoadOptions& load, Workload& workload, RunResult& last);

  // CPUs that the load generator may use.
  unsigned client_cpus() const { return client_cpus_; }
  std::string bottleneck(const RunResult& result, const LoadOptions& load) const;
  std::string describe() const;
  const std::vector<StageLatency>& stages() const { return stages_; }
  // All requests so far and their replies, if they are kept.
  Transcript& transcript() { return transcript_; }
  // Stops the private server. Returns its error; empty if there was none.
  std::string stop_server();

 private:
  CapacityTry judge_try(double rate, const LoadOptions& load, const RunResult& result);
  // Sends `document` on a new connection.
  std::string ask_server(std::string_view document);
  [[noreturn]] void throw_failure();
  StageReading stages_now() const;

  const Options& options_;
  Progress progress_;
  std::unique_ptr<LocalServer> server_;
  std::optional<client::Servers> servers_, http_servers_;  // the second: only for JSON
  std::vector<StageLatency> stages_;
  Transcript transcript_;
  unsigned client_cpus_ = 1, server_cpus_ = 1;  // the number of CPUs that each may use
};

}  // namespace exchange::loadgen
