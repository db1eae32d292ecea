#pragma once
// Metrics declares each metric of the server once, in the order of /metrics. Owner: main. Core,
// transport and HTTP write it; the metrics endpoint reads it. Any thread, without locks: each value
// is exact, but values read one after the other belong to different moments. Members end in the
// unit of their value: _us, _ns, _bytes. Metrics only observe: decisions must not depend on them.

#include <variant>

#include "engine/commands.hpp"
#include "metrics/metric.hpp"
#include "metrics/stages.hpp"

namespace exchange {

// The values of labels. The text has the enumerators' names.
BOOST_DEFINE_FIXED_ENUM_CLASS(OrderKind, std::uint8_t, limit, ioc, fok, post, market)
BOOST_DEFINE_FIXED_ENUM_CLASS(CancelCause, std::uint8_t, client, disconnect, immediate, stp)
BOOST_DEFINE_FIXED_ENUM_CLASS(AdmissionLimit, std::uint8_t, limit, peer)
BOOST_DEFINE_FIXED_ENUM_CLASS(EndCause, std::uint8_t, idle, stalled, evicted, memory)
BOOST_DEFINE_FIXED_ENUM_CLASS(LoginResult, std::uint8_t, accepted, refused)
BOOST_DEFINE_FIXED_ENUM_CLASS(HttpLimit, std::uint8_t, peer, memory)

// Counts by kind, which is the index in Command, and by result: 0 is executed, 1 + Reason is
// rejected.
class CommandCounters : public Metric {
 public:
  static constexpr std::size_t kinds = std::variant_size_v<Command>;
  static constexpr std::size_t results = 1 + enumerators<Reason>;

  CommandCounters(MetricList& all, const char* name, const char* help)
      : Metric(all, "counter", name, help) {}
  auto& operator[](std::size_t kind) { return counts_[kind]; }

 private:
  void write_samples(MetricText& text) const override {
    std::size_t kind = 0;
    boost::mp11::mp_for_each<boost::mp11::mp_transform<std::type_identity, Command>>(
        [&]<class Struct>(std::type_identity<Struct>) {
          write_kind(text, Struct::word, counts_[kind++]);
        });
  }
  using Counts = std::array<MetricValue, results>;
  void write_kind(MetricText& text, const char* word, const Counts& counts) const {
    for (std::size_t result = 0; result < results; ++result)
      if (const std::uint64_t count = counts[result]; count > 0 || result == 0)
        text.sample(name_,
                    metric_label("kind", word) + "," +
                        metric_label("result", result == 0 ? "ok" : to_code(Reason(result - 1))),
                    double(count));
  }
  std::array<Counts, kinds> counts_{};
};

struct Metrics {
  MetricList all;

  Gauge info{all, "exchange_info", "The running server."};  // always 1, with labels

  // requests
  Counter requests{all, "exchange_requests_total", "Requests received, refused ones included."};
  CommandCounters commands{all, "exchange_commands_total",
                           "Elements executed, by kind and result."};
  CounterBy<OrderKind> orders{all, "exchange_orders_total", "kind", "Orders opened, by kind."};
  CounterBy<CancelCause> canceled_orders{all, "exchange_canceled_orders_total", "reason",
                                         "Orders canceled, by reason."};
  Counter client_errors{all, "exchange_client_errors_total",
                        "Documents and elements refused before the engine."};
  Counter executions{all, "exchange_executions_total", "Trades since the exchange was created."};
  StageHistograms stage_times{all};

  // core
  NumberHistogram batch_commands{all, "exchange_batch_commands", "Commands in a batch."};
  Counter batches{all, "exchange_batches_total", "Batches applied."};
  Counter batches_committed{all, "exchange_batches_committed_total",
                            "Batches that changed state and were committed."};
  Counter journal_bytes{all, "exchange_journal_bytes_total", "Bytes of journal payload committed."};
  Counter commit_us{all, "exchange_commit_microseconds_total", "Time spent in commits."};
  Gauge clock_behind_s{all, "exchange_clock_behind_seconds",
                       "How far the system clock is behind the newest time in the journal."};
  Gauge queue_depth{all, "exchange_queue_depth", "Submissions that wait for the core."};
  Counter timetable_changes{all, "exchange_timetable_changes_total",
                            "Changes of trading by the timetable, one for each symbol."};

  // connections
  Gauge connections{all, "exchange_connections", "Open connections."};
  Counter connections_accepted{all, "exchange_connections_accepted_total", "Connections accepted."};
  CounterBy<AdmissionLimit> connections_refused{
      all, "exchange_connections_refused_total", "reason",
      "Connections refused: too many in all (limit) or of their address (peer)."};
  CounterBy<EndCause> connections_ended{
      all, "exchange_connections_ended_total", "reason",
      "Connections closed by the server: idle, stalled, evicted for a new connection, or for "
      "memory."};
  Counter requests_refused{all, "exchange_requests_refused_total",
                           "Batches of large requests refused unexecuted for lack of memory."};
  Counter accept_failures{all, "exchange_accept_failures_total",
                          "Failures to accept a connection, such as no descriptors."};
  Counter bad_frames{all, "exchange_bad_frames_total", "Connections closed for bad framing."};

  // TLS and keys
  Counter tls_failures{all, "exchange_tls_failures_total", "TLS handshakes that failed."};
  Counter tls_refused{all, "exchange_tls_refused_total",
                      "Connections closed before their TLS handshake, too many of one address."};
  Gauge certificate_expiry_s{
      all, "exchange_certificate_expiry_seconds",
      "When the TLS certificate expires, in seconds since the Unix epoch; 0: no TLS."};
  CounterBy<LoginResult> logins{all, "exchange_logins_total", "result",
                                "Keys checked for a login, by result."};
  CounterBy<LoginResult> operator_logins{all, "exchange_operator_logins_total", "result",
                                         "Operator's keys checked, for creations, by result."};
  Counter key_hashes{all, "exchange_key_hashes_total", "Hashes computed of keys."};
  Counter key_hash_us{all, "exchange_key_hash_microseconds_total", "Time spent hashing keys."};
  Gauge key_queue_depth{all, "exchange_key_queue_depth",
                        "Request batches whose keys wait to be hashed."};
  Counter key_checks_abandoned{all, "exchange_key_checks_abandoned_total",
                               "Checks of keys that ended with their connection, without a hash."};

  // store
  Gauge batch{all, "exchange_journal_batch", "Newest committed batch."};
  Gauge projected_batch{all, "exchange_projected_batch",
                        "Batch up to which the tables are updated."};
  Gauge projection_lag_batches{all, "exchange_projection_lag_batches",
                               "Committed batches that the tables lack."};
  Gauge projection_lag_ns{all, "exchange_projection_lag_seconds",
                          "Age of the oldest change that the tables lack.", 1e9};
  Gauge accounts{all, "exchange_accounts", "Accounts."};
  Gauge symbols{all, "exchange_symbols", "Symbols."};
  Gauge open_orders{all, "exchange_open_orders", "Open orders."};
  Gauge accounts_max{all, "exchange_accounts_max", "Accounts at which further ones are refused."};
  Gauge symbols_max{all, "exchange_symbols_max", "Symbols at which further ones are refused."};
  Gauge open_orders_max{all, "exchange_open_orders_max",
                        "Open orders at which orders that would rest are refused."};
  Gauge orders_in_memory{all, "exchange_orders_in_memory", "Orders open or not projected yet."};
  Counter orders_read{all, "exchange_orders_read_total",
                      "Closed orders read from the tables for clients."};
  Counter lag_waits{all, "exchange_lag_waits_total",
                    "Times the core waited for the tables to catch up."};
  Counter slowed_batches{all, "exchange_slowed_batches_total",
                         "Batches after which the core let the tables catch up a little."};
  Counter store_failures{all, "exchange_store_failures_total", "Failed operations of the store."};
  Gauge store_available{all, "exchange_store_available", "1 while the store is reachable."};

  // replication
  Gauge active{all, "exchange_active",
               "1 while this server serves; 0 in a standby, and while it cannot know whether "
               "another one serves."};
  Gauge epoch{all, "exchange_epoch",
              "Counts the servers that have opened the store; 0: this one has not."};
  Gauge standby_lag_ns{all, "exchange_standby_lag_seconds",
                       "Time since this standby had last read the whole journal; 0 while active.",
                       1e9};
  Gauge synchronous_standbys{all, "exchange_synchronous_standbys",
                             "Synchronous standbys of PostgreSQL that commits wait for."};
  Gauge replicas_required{all, "exchange_replicas_required", "The value of --require-replicas."};
  Counter commits_in_doubt{all, "exchange_commits_in_doubt_total",
                           "Commits whose outcome had to be looked up."};
  Counter database_failovers{all, "exchange_database_failovers_total",
                             "Times this server went on to a newer primary of PostgreSQL."};

  // HTTP
  Counter http_requests{all, "exchange_http_requests_total", "HTTP requests."};
  CounterBy<HttpLimit> http_refused{all, "exchange_http_refused_total", "reason",
                                    "HTTP connections and responses refused, by limit."};
  Gauge websockets{all, "exchange_websockets", "Open WebSocket connections."};
  Counter websockets_dropped{
      all, "exchange_websockets_dropped_total",
      "WebSocket connections closed because the client read too slowly or stopped answering."};

  // the process, by the names that every Prometheus client library uses
  Counter cpu_us{all, "process_cpu_seconds_total", "CPU time of this process.", 1e6};
  Gauge resident_bytes{all, "process_resident_memory_bytes", "Resident memory."};
  Gauge started_s{all, "process_start_time_seconds",
                  "When it started, in seconds since the Unix epoch."};

  // Other values are computed from these (web/prometheus.hpp): the number of submissions that the
  // core has not taken yet; the number that it has taken, but that wait for a later batch; the time
  // on the monotonic clock when a standby last read the whole journal.
  MetricValue inbox_depth{0}, taken_depth{0}, journal_read_ns{0};

  static void add(MetricValue& counter, std::uint64_t n = 1) {
    counter.fetch_add(n, std::memory_order_relaxed);
  }
  static void set(MetricValue& gauge, std::uint64_t value) {
    gauge.store(value, std::memory_order_relaxed);
  }
};

}  // namespace exchange
