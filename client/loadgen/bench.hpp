#pragma once
// One load after another against one server: a private one, which it starts and stops, or one that
// runs already. Thread: main.

#include <memory>
#include <string>
#include <vector>

#include "client/loadgen/audit/audit.hpp"
#include "client/loadgen/capacity.hpp"
#include "client/loadgen/fleet.hpp"
#include "client/loadgen/local_server.hpp"
#include "client/loadgen/progress.hpp"
#include "client/loadgen/server_stages.hpp"

namespace exchange::loadgen {

class Bench {
 public:
  // `options` must outlive it. Throws ServerFailed, client::Unreachable, client::Interrupted.
  explicit Bench(const Options& options);

  // Digits that start the ids of this run's accounts, few where possible: other servers may keep
  // ids in 32 bits. Creates an account of this id, so that no other run takes them. Throws as the
  // constructor.
  std::string unused_prefix();
  // The load as given, with accounts of its own. Throws as the constructor, and what a failed
  // set-up gives.
  RunResult run(const LoadOptions& load, const Workload& workload);
  // A server that stops answering is a finding too.
  AuditResult audit_history(const Workload& workload, RunResult& result);
  // Closed loop first, for a guess; then open loops until the rate is found. `last`: the run of the
  // last try, with the wrong answers of all. Where it is interrupted or the server goes away, the
  // tries until then are kept.
  Capacity search_capacity(LoadOptions& load, Workload& workload, RunResult& last);

  // CPUs that the load generator may use.
  unsigned client_cpus() const { return client_cpus_; }
  std::string bottleneck(const RunResult& result, const LoadOptions& load) const;
  std::string describe() const;
  const std::vector<StageLatency>& stages() const { return stages_; }
  // All requests so far and their replies, where they are kept.
  Transcript& transcript() { return transcript_; }
  // Returns what went wrong with it.
  std::string stop_server();

 private:
  CapacityTry judge_try(double rate, const LoadOptions& load, const RunResult& result);
  // On a connection of its own.
  std::string ask_server(std::string_view document);
  [[noreturn]] void throw_failure();
  StageReading stages_now() const;

  const Options& options_;
  Progress progress_;
  std::unique_ptr<LocalServer> server_;
  std::optional<client::Servers> servers_;
  std::vector<StageLatency> stages_;
  Transcript transcript_;
  unsigned client_cpus_ = 1, server_cpus_ = 1;  // how many each of them may use
};

}  // namespace exchange::loadgen
