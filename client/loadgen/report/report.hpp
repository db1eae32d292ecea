#pragma once
// Reports the results of a run, as text and as JSON for programs and for the other reports: both
// contain the same figures.

#include <cstdio>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "client/loadgen/audit/audit.hpp"
#include "client/loadgen/fleet.hpp"
#include "client/loadgen/local_server.hpp"
#include "client/loadgen/options.hpp"

namespace exchange::loadgen {

struct Judgement {
  Expectation expectation;
  double measured = 0;  // in the unit of its bound
  bool met = false;
};
// Returns the measured value, in the unit of Expectation's bounds.
double measured(Measure measure, const RunResult& result);
std::vector<Judgement> judge(const std::vector<Expectation>& expectations, const RunResult& result);

// Returns why the client's own limits determined the figures, which are then lower than what the
// server can do; empty if they did not. `cpus`, `server_cpus`: the CPUs that client and server may
// use.
std::string client_bottleneck(const RunResult& result, const LoadOptions& load, unsigned cpus,
                              unsigned server_cpus);

// Wrong answers are never allowed; other errors only if a condition limits them.
bool no_errors_but_those_judged(const std::vector<Expectation>& expectations, const Counts& counts);

struct Report {
  const Options& options;  // with the load that was run
  const Workload& workload;
  const RunResult& result;
  std::string started;  // UTC, ISO 8601
  std::string server;   // its name, policy and store
  Machine machine;
  unsigned client_cpus = 1;  // usable by the load generator
  std::vector<Judgement> judgements;
  std::optional<AuditResult> audit;
  std::optional<Capacity> capacity;
  std::vector<StageLatency> stages;  // of a private server

  // client_bottleneck() of the run, or of the search for the capacity
  std::string bottleneck;

  bool all_well() const;
};

void print_text(std::FILE* out, const Report& report);
nlohmann::ordered_json to_json(const Report& report);

}  // namespace exchange::loadgen
