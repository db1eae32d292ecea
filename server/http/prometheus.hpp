#pragma once
// All metrics in the Prometheus text format, version 0.0.4 (docs/http-api.md, "Metrics"). Any
// thread.

#include <string>

#include "metrics/metrics.hpp"

namespace exchange {

// What runs: labels of exchange_info.
struct ServerInfo {
  std::string policy, threads, store, version;
  std::int64_t started_s = 0;  // since the Unix epoch
};

std::string prometheus_text(const Metrics& metrics, const ServerInfo& info);

}  // namespace exchange
