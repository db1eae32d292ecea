#pragma once
// `loadgen policies` shows which thread policy suits this machine. It runs each policy on several
// numbers of CPUs, with a private server for each run. Thread: main.

#include "client/loadgen/options.hpp"
#include "client/loadgen/report/json.hpp"

namespace exchange::loadgen {

struct PoliciesMeasured {
  // In the form "exchange-loadgen-policies/1" (report/policies_report.hpp), without its summary.
  Json document;
  // No run had errors, and each server started and stopped correctly.
  bool all_well = true;
};

// Runs all cells `rounds` times, forwards and backwards in turns, so that all cells are affected
// equally if the machine becomes slower or faster. An error in a cell is recorded in the document,
// and the other cells continue; an interrupted run is left out. Pins the calling thread.
PoliciesMeasured measure_policies(const PoliciesOptions& options);

}  // namespace exchange::loadgen
