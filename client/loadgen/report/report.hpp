#pragma once
// What a run found, as text for people and as JSON for programs and for the other reports: the same
// figures.

#include <cstdio>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "client/loadgen/audit/audit.hpp"
#include "client/loadgen/capacity.hpp"
#include "client/loadgen/fleet.hpp"
#include "client/loadgen/options.hpp"
#include "client/loadgen/server_stages.hpp"

namespace exchange::loadgen {

struct Judgement {
  Expectation expectation;
  double measured = 0;  // in the unit of its bound
  bool met = false;
};
// What a run measured, in the unit of Expectation's bounds.
double measured(Measure measure, const RunResult& result);
std::vector<Judgement> judge(const std::vector<Expectation>& expectations, const RunResult& result);

// The client's own limits shaped the figures: they are less than what the server can do. Why; empty
// where they did not. `cpus`, `server_cpus`: that client and server may use.
std::string client_bottleneck(const RunResult& result, const LoadOptions& load, unsigned cpus,
                              unsigned server_cpus);

// Wrong answers may never be; other errors only where a condition says how many.
bool no_errors_but_those_judged(const std::vector<Expectation>& expectations, const Counts& counts);

struct Report {
  const Options& options;  // with the load as it was run
  const Workload& workload;
  const RunResult& result;
  std::string started;  // UTC, ISO 8601
  std::string server;   // which one, with what policy and store
  Machine machine;
  unsigned client_cpus = 1;  // that the load generator could use
  std::vector<Judgement> judgements;
  std::optional<AuditResult> audit;
  std::optional<Capacity> capacity;
  std::vector<StageLatency> stages;  // of a server of our own

  // client_bottleneck() of the run, or of the search for the capacity
  std::string bottleneck;

  bool all_well() const;
};

void print_text(std::FILE* out, const Report& report);
nlohmann::ordered_json to_json(const Report& report);
// The percentiles of `ns`, in milliseconds, in the text format that HdrHistogram prints and that
// its plotters read.
std::string to_hdr(const Histogram& ns);
// The time of day in UTC as ISO 8601, to the second.
std::string utc_now();
// To stdout if `path` is "-". Throws std::system_error.
void write_file(const std::string& path, const std::string& text);

}  // namespace exchange::loadgen
