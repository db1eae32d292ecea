#pragma once
// The report of `loadgen policies`: several runs in one table. Pure.
//
// The form "exchange-loadgen-policies/1": format, commit, started, command, machine, rounds,
// interrupted, and cells: {policy, cores, server_cpus, client_cpus, workers, not_run and problem (a
// reason or null), runs: reports of the form "exchange-loadgen/1"}. add_summary() adds to each cell
// with runs requests_per_s, response_p50_ms, response_p99_ms, response_p99_9_ms,
// server_cpu_us_per_request, client_cpu_us_per_request (each {median, least, greatest}, or null)
// and errors; and to the document `answers`, {cores, first, text}, one for each number of CPUs, and
// `warnings`.

#include <string>

#include "client/loadgen/report/json.hpp"

namespace exchange::loadgen {

void add_summary(Json& policies);
// Returns the text of a document that has its summary.
std::string policies_text(const Json& policies);
}  // namespace exchange::loadgen
