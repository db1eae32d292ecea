#pragma once
// What `loadgen policies` and `loadgen compare` lay side by side: several runs in one table and in
// the same charts. Pure.
//
// The form "exchange-loadgen-policies/1": format, commit, started, command, machine, rounds,
// interrupted, and cells: {policy, cores, server_cpus, client_cpus, workers, not_run and problem (a
// reason or null), runs: reports of the form "exchange-loadgen/1"}. add_summary() adds to each cell
// with runs requests_per_s, response_p50_ms, response_p99_ms, response_p99_9_ms,
// server_cpu_us_per_request, client_cpu_us_per_request (each {median, least, greatest}, or null)
// and errors; and to the document `answers`, {cores, first, text}, one for each number of CPUs, and
// `warnings`.

#include <string>
#include <vector>

#include "client/loadgen/report/json.hpp"

namespace exchange::loadgen {

void add_summary(Json& policies);
// Of a document with its summary.
std::string policies_text(const Json& policies);
Json policies_page(const Json& policies);

// One or several reports under one name.
struct RunGroup {
  std::string name;
  std::vector<Json> runs;
};
// The page of `loadgen compare`: `about` and `warnings` stand above the figures of all groups.
Json comparison_page(const std::vector<RunGroup>& groups, const std::string& about,
                     const std::vector<std::string>& warnings);

}  // namespace exchange::loadgen
