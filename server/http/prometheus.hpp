#pragma once
// All metrics in the Prometheus text format, version 0.0.4 (docs/http-api.md, "Metrics").
// Thread: any.

#include <string>

#include "core/health.hpp"
#include "metrics/metrics.hpp"

namespace exchange {

// Labels of exchange_info.
struct ServerInfo {
  std::string policy, threads, store, version;
  std::int64_t started_s = 0;  // since the Unix epoch
};

// `certificate_expiry_s`: when the TLS certificate expires, since the Unix epoch; 0: no TLS.
std::string prometheus_text(const Metrics& metrics, const Health& health, const ServerInfo& info,
                            std::int64_t certificate_expiry_s);

}  // namespace exchange
