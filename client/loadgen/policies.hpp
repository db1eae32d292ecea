#pragma once
// `loadgen policies`: which thread policy suits this machine? Each policy on several numbers of
// CPUs, with a private server for each run. Thread: main.

#include "client/loadgen/options.hpp"
#include "client/loadgen/report/json.hpp"

namespace exchange::loadgen {

struct PoliciesMeasured {
  // In the form "exchange-loadgen-policies/1" (report/policies_report.hpp), without its summary.
  Json document;
  // No run had errors, and each server started and stopped as it should.
  bool all_well = true;
};

// `rounds` times all cells, forwards and backwards in turns, so that a machine that becomes slower
// or faster meanwhile treats them alike. What goes wrong in a cell is part of the document, and the
// others go on; an interrupted run is left out. Pins the calling thread.
PoliciesMeasured measure_policies(const PoliciesOptions& options);

}  // namespace exchange::loadgen
