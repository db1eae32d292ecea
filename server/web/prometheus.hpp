#pragma once
// Writes all metrics as the text of /metrics (docs/http-api.md, "Metrics"). No state; threads: as
// noted.

#include <string>

#include "core/health.hpp"
#include "engine/limits.hpp"
#include "metrics/metrics.hpp"
#include "store/store.hpp"

namespace exchange {

// Facts that do not change. The texts are labels of exchange_info.
struct ServerInfo {
  std::string policy, threads, store, version;
  std::int64_t started_s = 0;      // since the Unix epoch
  unsigned replicas_required = 0;  // --require-replicas
  StateLimits state;
};

// Sets the metrics of these facts. Called before another thread uses them.
void show_server(Metrics& metrics, const ServerInfo& info);

// Sets the metrics whose values other parts have, and writes all metrics. Thread: one at a time.
// `certificate_expiry_s` is when the TLS certificate expires, since the Unix epoch; 0: no TLS.
// `active`: this server serves, and knows that no other server does.
std::string prometheus_text(Metrics& metrics, const Health& health, const StoreStatus& store,
                            std::int64_t certificate_expiry_s, bool active);

}  // namespace exchange
