#include "web/prometheus.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <fstream>

namespace exchange {
namespace {

void set_process(Metrics& metrics) {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto us = [](const timeval& time) {
    return std::uint64_t(time.tv_sec) * 1'000'000 + std::uint64_t(time.tv_usec);
  };
  Metrics::set(metrics.cpu_us, us(usage.ru_utime) + us(usage.ru_stime));
  std::ifstream statm("/proc/self/statm");
  std::uint64_t pages = 0, resident = 0;
  statm >> pages >> resident;
  Metrics::set(metrics.resident_bytes, resident * std::uint64_t(sysconf(_SC_PAGESIZE)));
}

}  // namespace

void show_server(Metrics& metrics, const ServerInfo& info) {
  metrics.connections.labels = metric_label("policy", info.policy);
  metrics.info.labels = metrics.connections.labels + "," + metric_label("threads", info.threads) +
                        "," + metric_label("store", info.store) + "," +
                        metric_label("version", info.version);
  Metrics::set(metrics.info, 1);
  Metrics::set(metrics.started_s, std::uint64_t(info.started_s));
  Metrics::set(metrics.replicas_required, info.replicas_required);
  Metrics::set(metrics.accounts_max, info.state.accounts_max);
  Metrics::set(metrics.symbols_max, info.state.symbols_max);
  Metrics::set(metrics.open_orders_max, info.state.open_orders_max);
}

std::string prometheus_text(Metrics& metrics, const Health& health, const StoreStatus& store,
                            std::int64_t certificate_expiry_s, bool active) {
  const std::uint64_t projected = metrics.projected_batch, batch = metrics.batch;
  const std::uint64_t read_ns = metrics.journal_read_ns;
  const std::int64_t now_ns = monotonic_ns();  // not before read_ns
  Metrics::set(metrics.queue_depth, metrics.inbox_depth + metrics.taken_depth);
  Metrics::set(metrics.certificate_expiry_s, std::uint64_t(certificate_expiry_s));
  Metrics::set(metrics.projection_lag_batches, batch > projected ? batch - projected : 0);
  Metrics::set(metrics.projection_lag_ns, std::uint64_t(health.projection_lag_ns(now_ns)));
  Metrics::set(metrics.store_available, health.store_available());
  Metrics::set(metrics.active, active);
  Metrics::set(metrics.epoch, store.epoch);
  Metrics::set(metrics.standby_lag_ns,
               active || read_ns == 0 ? 0 : std::uint64_t(now_ns) - read_ns);
  Metrics::set(metrics.synchronous_standbys, store.synchronous_standbys);
  Metrics::set(metrics.database_failovers, store.failovers);
  set_process(metrics);
  MetricText text;
  for (const Metric* metric : metrics.all) metric->write(text);
  return text.take() + "# EOF\n";
}

}  // namespace exchange
