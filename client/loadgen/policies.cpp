#include "client/loadgen/policies.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "base/version.hpp"
#include "client/connection/command_line.hpp"
#include "client/loadgen/bench.hpp"
#include "client/loadgen/report/numbers.hpp"
#include "client/loadgen/report/report.hpp"

namespace exchange::loadgen {
namespace {

// A policy on a number of CPUs.
struct Cell {
  Options options;      // of its runs
  unsigned cores = 0;   // CPUs of the server
  bool fits = true;     // true: the machine has enough CPUs
  std::string problem;  // of the last run that failed; empty: no run failed
  std::vector<Json> runs;
};

std::string count_of_cpus(std::size_t usable) {
  const std::string cpus = std::to_string(usable) + (usable == 1 ? " CPU" : " CPUs");
  return usable == this_machine().cpus ? "this machine has " + cpus : "only " + cpus + " to use";
}

// The server gets the first CPUs; the clients get the others, or share the server's if there are no
// others.
std::vector<Cell> make_cells(const PoliciesOptions& options, const std::vector<int>& cpus) {
  std::vector<Cell> cells;
  for (const unsigned cores : options.cores)
    for (std::size_t policy = 0; policy < enumerators<Policy>; ++policy) {
      Cell& cell = cells.emplace_back();
      cell.options = options.each;
      cell.options.local_server.policy = Policy(policy);
      cell.cores = cores;
      cell.fits = cores <= cpus.size();
      if (!cell.fits) continue;
      const auto end = cpus.begin() + cores;
      const bool share = end == cpus.end();
      cell.options.local_server.cpus.assign(cpus.begin(), end);
      cell.options.client_cpus.assign(share ? cpus.begin() : end, cpus.end());
      LoadOptions& load = cell.options.load;
      if (options.choose_workers)
        load.workers = std::clamp(unsigned(cell.options.client_cpus.size()) / (share ? 2 : 1), 1u,
                                  std::min(load.clients, workers_max));
    }
  return cells;
}

// Makes one run; returns false if it had errors. Throws what Bench throws.
bool measure(Cell& cell) {
  const std::string started = utc_now();
  Options options = cell.options;
  Bench bench(options);
  if (options.workload.account_prefix.empty())
    options.workload.account_prefix = bench.unused_prefix();
  const Workload workload(options.workload, options.load.clients);
  const RunResult result = bench.run(options.load, workload);
  if (client::stop_flag()) throw client::Interrupted();
  const Report report{.options = options,
                      .workload = workload,
                      .result = result,
                      .started = started,
                      .server = bench.describe(),
                      .machine = this_machine(),
                      .client_cpus = bench.client_cpus(),
                      .stages = bench.stages(),
                      .bottleneck = bench.bottleneck(result, options.load)};
  cell.runs.push_back(to_json(report));
  const std::string problem = bench.stop_server();
  if (!problem.empty()) cell.problem = problem;  // a later successful round does not clear it
  return report.all_well() && problem.empty();
}

Json cell_json(Cell& cell, const std::vector<int>& cpus) {
  const Options& options = cell.options;
  return {{"policy", to_string(options.local_server.policy)},
          {"cores", cell.cores},
          {"server_cpus", options.local_server.cpus},
          {"client_cpus", options.client_cpus},
          {"workers", options.load.workers},
          {"not_run", cell.fits ? Json() : Json(count_of_cpus(cpus.size()))},
          {"problem", cell.problem.empty() ? Json() : Json(cell.problem)},
          {"runs", std::move(cell.runs)}};
}

}  // namespace

PoliciesMeasured measure_policies(const PoliciesOptions& options) {
  const std::vector<int> cpus = options.cpus.empty() ? usable_cpus() : options.cpus;
  const std::string started = utc_now();
  std::vector<Cell> cells = make_cells(options, cpus);
  std::vector<Cell*> order;
  for (Cell& cell : cells)
    if (cell.fits) order.push_back(&cell);
  const bool shown = ::isatty(STDERR_FILENO) == 1;
  const std::size_t runs = order.size() * options.rounds;

  PoliciesMeasured measured;
  bool interrupted = false;
  std::size_t run = 0;
  for (unsigned round = 0; round < options.rounds && !interrupted; ++round) {
    for (Cell* cell : order) {
      std::string outcome;
      try {
        measured.all_well &= measure(*cell);
        outcome =
            number_text(number_at(cell->runs.back(), {"result", "requests_per_s"})) + " requests/s";
      } catch (const client::Interrupted&) {
        interrupted = true;
        break;
      } catch (const std::exception& error) {
        outcome = cell->problem = error.what();
        measured.all_well = false;
      }
      if (shown)
        std::fprintf(stderr, "run %zu of %zu: %s on %u CPU%s: %s\n", ++run, runs,
                     std::string(to_string(cell->options.local_server.policy)).c_str(), cell->cores,
                     cell->cores == 1 ? "" : "s", outcome.c_str());
    }
    std::reverse(order.begin(), order.end());
  }

  Json table = Json::array();
  for (Cell& cell : cells) table.push_back(cell_json(cell, cpus));
  const Machine machine = this_machine();
  measured.document = {{"format", "exchange-loadgen-policies/1"},
                       {"commit", commit()},
                       {"started", started},
                       {"command", options.each.command},
                       {"machine",
                        {{"cpu", machine.cpu},
                         {"cpus", machine.cpus},
                         {"memory_bytes", machine.memory_bytes},
                         {"kernel", machine.kernel}}},
                       {"rounds", options.rounds},
                       {"interrupted", interrupted},
                       {"cells", std::move(table)}};
  return measured;
}

}  // namespace exchange::loadgen
