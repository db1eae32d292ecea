#pragma once
// A run: starts the workers, watches them and the processes from outside, and merges the results of
// the workers. It merges histograms, never percentiles. Thread: the caller's thread watches; each
// worker has its own.

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/guarded.hpp"
#include "client/loadgen/driver.hpp"
#include "client/loadgen/process.hpp"

namespace exchange::loadgen {

// The resources that one process used in the measured part.
struct Consumption {
  Usage used;          // memory: at the end
  double seconds = 0;  // the length of that part
};

// One second of the run, merged over all workers. An object of the JSON.
struct Second {
  double second = 0;  // its end, from the start of the run
  bool warmup = false;
  std::optional<double> planned_per_s;  // open loop
  double requests_per_s = 0;
  std::optional<double> response_mean_ms, response_p50_ms, response_p99_ms, response_p99_9_ms,
      response_max_ms, service_p50_ms, service_p99_ms;
  std::uint64_t errors = 0, rejected = 0, in_flight = 0;
  double client_cpu_share = 0;             // of the CPUs it could use: one per worker
  std::optional<double> server_cpu_share;  // of one CPU
  std::optional<double> stolen_cpu_share;  // of all CPUs of the machine, by a hypervisor
};
BOOST_DESCRIBE_STRUCT(Second, (),
                      (second, warmup, planned_per_s, requests_per_s, response_mean_ms,
                       response_p50_ms, response_p99_ms, response_p99_9_ms, response_max_ms,
                       service_p50_ms, service_p99_ms, errors, rejected, in_flight,
                       client_cpu_share, server_cpu_share, stolen_cpu_share))

struct RunResult {
  Counts counts;
  Examples examples;
  Deviations deviations;
  double seconds = 0;        // measured part
  std::uint64_t unsent = 0;  // planned, but not sent when sending ended
  // the user stopped it, the server ended, or the server no longer answered
  bool stopped_early = false;
  std::vector<Second> series;
  Consumption client;
  std::optional<Consumption> server, database;
  std::optional<double> stolen_cpu_share;  // as in Second
  History history;
  Transcript transcript;

  double requests_per_s() const { return seconds > 0 ? double(counts.answered) / seconds : 0; }
  // The share of errors among all requests sent or tried.
  double error_share() const;
  // The share of rejections among all request elements that were answered.
  double rejected_share() const;
};

// The processes to watch, if known, and the function to call when the measured part begins.
struct Watched {
  std::optional<int> server_pid, database_pid;
  std::function<void()> at_begin;
};

// Called after each second; false ends the run.
using Look = std::function<bool(const Second&, const Counts& so_far, double share_done)>;

// Opens the connections and runs the load to its end. Throws Unreachable and Interrupted, but only
// before the measurement.
RunResult run_load(const LoadOptions& load, const Workload& workload, client::Servers& servers,
                   const Watched& watched, const client::StopFlag& stop, const Look& look);

}  // namespace exchange::loadgen
