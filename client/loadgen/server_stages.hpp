#pragma once
// The times that the server spends in each stage of a request, from its own /metrics
// (server/metrics/stages.hpp): the difference between two readings of the histograms.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "client/connection/socket.hpp"

namespace exchange::loadgen {

struct StageLatency {
  std::string name;         // "parse", "queue", "apply", …, in the order of a request
  std::uint64_t count = 0;  // requests sampled
  double mean_us = 0, p50_us = 0, p99_us = 0;  // quantiles to the width of a bucket
};

// One reading of the stages, parsed from the Prometheus text format.
struct StageReading {
  struct Stage {
    double sum_s = 0;
    // upper bound in seconds, values not above it; the last bound is infinite
    std::vector<std::pair<double, std::uint64_t>> buckets;
  };
  std::vector<std::string> names;  // in order
  std::map<std::string, Stage> stages;
};
StageReading parse_stages_of(const std::string& prometheus_text);

// GET /metrics. Returns an empty reading if that fails: the report then has no stages.
StageReading read_stages(const client::Address& http, double timeout_s,
                         const client::StopFlag& stop);

std::vector<StageLatency> between(const StageReading& before, const StageReading& after);

}  // namespace exchange::loadgen
