#include "http/prometheus.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <vector>

#include "engine/commands.hpp"

namespace exchange {
namespace {

constexpr const char* kind_names[] = {"create_account", "create_symbol", "place_shares", "order",
                                      "cancel",         "query",         "cancel_all",   "replace"};
constexpr const char* order_kind_names[] = {"limit", "ioc", "fok", "post", "market"};
static_assert(std::size(order_kind_names) == order_kinds);
static_assert(std::size(kind_names) == Metrics::command_kinds);

std::string result_name(std::size_t result) {
  return result == 0 ? "ok" : std::string(code_of(Reason(result - 1)));
}

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.15g", value);
  return text;
}

// Each step of each decade from `first` up to `last`, and `last`.
std::vector<double> decades(double first, double last, std::initializer_list<double> steps) {
  std::vector<double> bounds;
  for (double decade = first; decade < last; decade *= 10)
    for (const double step : steps) bounds.push_back(decade * step);
  bounds.push_back(last);
  return bounds;
}

class Text {
 public:
  void family(const std::string& name, const char* type, const std::string& help) {
    text_ += "# HELP " + name + " " + help + "\n# TYPE " + name + " " + type + "\n";
  }
  void sample(const std::string& name, const std::string& labels, double value) {
    text_ += name + (labels.empty() ? "" : "{" + labels + "}") + " " + number(value) + "\n";
  }
  void single(const std::string& name, const char* type, const std::string& help, double value,
              const std::string& labels = {}) {
    family(name, type, help);
    sample(name, labels, value);
  }
  void counter(const std::string& name, const char* help, std::uint64_t value) {
    single("exchange_" + name, "counter", help, double(value));
  }
  void gauge(const std::string& name, const char* help, std::uint64_t value,
             const std::string& labels = {}) {
    single("exchange_" + name, "gauge", help, double(value), labels);
  }
  // One counter, with a value for each value of a label.
  void counters(const std::string& name, const char* help, const std::string& label,
                std::initializer_list<std::pair<const char*, std::uint64_t>> values) {
    family("exchange_" + name, "counter", help);
    for (const auto& [value, count] : values)
      sample("exchange_" + name, label + "=\"" + value + "\"", double(count));
  }
  // `bounds` in the histogram's own unit; `scale` of them make one unit of the metric.
  void histogram(const std::string& name, const std::string& labels, const Histogram& histogram,
                 const std::vector<double>& bounds, double scale) {
    std::vector<std::uint64_t> counts(bounds.size());
    // Counted by the lowest value of its bucket: whole numbers are exact, and no count ever moves.
    histogram.for_each_bucket([&](std::uint64_t lowest, std::uint64_t, std::uint64_t count) {
      const auto bound = std::lower_bound(bounds.begin(), bounds.end(), double(lowest));
      if (bound != bounds.end()) counts[std::size_t(bound - bounds.begin())] += count;
    });
    const std::string first = labels.empty() ? "" : labels + ",";
    std::uint64_t below = 0;
    for (std::size_t i = 0; i < bounds.size(); ++i)
      sample(name + "_bucket", first + "le=\"" + number(bounds[i] / scale) + "\"",
             double(below += counts[i]));
    sample(name + "_bucket", first + "le=\"+Inf\"", double(histogram.count()));
    sample(name + "_sum", labels, double(histogram.sum()) / scale);
    sample(name + "_count", labels, double(histogram.count()));
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

void add_commands(Text& text, const Metrics& metrics) {
  text.family("exchange_commands_total", "counter", "Elements executed, by kind and result.");
  for (std::size_t kind = 0; kind < Metrics::command_kinds; ++kind)
    for (std::size_t result = 0; result < Metrics::command_results; ++result)
      if (const std::uint64_t count = metrics.commands[kind][result]; count > 0 || result == 0)
        text.sample(
            "exchange_commands_total",
            std::string("kind=\"") + kind_names[kind] + "\",result=\"" + result_name(result) + "\"",
            double(count));
}

void add_orders(Text& text, const Metrics& metrics) {
  text.family("exchange_orders_total", "counter", "Orders opened, by kind.");
  for (std::size_t kind = 0; kind < order_kinds; ++kind)
    text.sample("exchange_orders_total", std::string("kind=\"") + order_kind_names[kind] + "\"",
                double(metrics.orders[kind]));
  text.counters("canceled_orders_total", "Orders canceled, by reason.", "reason",
                {{"client", metrics.canceled_by_client},
                 {"disconnect", metrics.canceled_at_disconnect},
                 {"immediate", metrics.canceled_immediate},
                 {"stp", metrics.canceled_self_trade}});
}

void add_times(Text& text, const StageHistograms& times) {
  static const std::vector<double> bounds_ns = decades(1e3, 1e10, {1, 1.5, 2, 3, 5, 7});
  constexpr double second = 1e9;
  text.family("exchange_request_seconds", "histogram",
              "Time of sampled requests, from the last byte read to the reply written.");
  text.histogram("exchange_request_seconds", "", times.total_nanoseconds(), bounds_ns, second);
  text.family("exchange_stage_seconds", "histogram", "Time of sampled requests in each stage.");
  for (std::size_t i = 0; i < stages; ++i)
    text.histogram("exchange_stage_seconds", std::string("stage=\"") + stage_names[i] + "\"",
                   times.nanoseconds(Stage(i)), bounds_ns, second);
}

// The names that every Prometheus client library uses.
void add_process(Text& text, const ServerInfo& info) {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return double(time.tv_sec) + double(time.tv_usec) / 1e6;
  };
  std::ifstream statm("/proc/self/statm");
  double pages = 0, resident = 0;
  statm >> pages >> resident;
  text.single("process_cpu_seconds_total", "counter", "CPU time of this process.",
              seconds(usage.ru_utime) + seconds(usage.ru_stime));
  text.single("process_resident_memory_bytes", "gauge", "Resident memory.",
              resident * double(sysconf(_SC_PAGESIZE)));
  text.single("process_start_time_seconds", "gauge",
              "When it started, in seconds since the Unix epoch.", double(info.started_s));
}

void add_requests(Text& text, const Metrics& metrics) {
  text.counter("requests_total", "Requests received, refused ones included.", metrics.requests);
  add_commands(text, metrics);
  add_orders(text, metrics);
  text.counter("client_errors_total", "Documents and elements refused before the engine.",
               metrics.client_errors);
  text.counter("executions_total", "Trades since the exchange was created.", metrics.executions);
  add_times(text, metrics.stage_times);
}

void add_batches(Text& text, const Metrics& metrics) {
  static const std::vector<double> bounds = decades(1, 1e4, {1, 2, 3, 5, 7});
  const Histogram commands =
      metrics.batch_commands.with([](const Histogram& histogram) { return histogram; });
  text.family("exchange_batch_commands", "histogram", "Commands in a batch.");
  text.histogram("exchange_batch_commands", "", commands, bounds, 1);
  text.counter("batches_total", "Batches applied.", metrics.batches);
  text.counter("batches_committed_total", "Batches that changed state and were committed.",
               metrics.batches_committed);
  text.counter("journal_bytes_total", "Bytes of journal payload committed.", metrics.journal_bytes);
  text.counter("commit_microseconds_total", "Time spent in commits.", metrics.commit_us);
  text.gauge("clock_behind_seconds",
             "How far the system clock is behind the newest time in the journal.",
             metrics.clock_behind_s);
  text.gauge("queue_depth", "Submissions that wait for the core.",
             metrics.queue_depth + metrics.taken_depth);
}

void add_connections(Text& text, const Metrics& metrics, const std::string& policy) {
  text.gauge("connections", "Open connections.", metrics.connections, policy);
  text.counter("connections_accepted_total", "Connections accepted.", metrics.connections_accepted);
  text.counters(
      "connections_refused_total",
      "Connections refused: too many in all (limit) or of their address (peer).", "reason",
      {{"limit", metrics.connections_refused}, {"peer", metrics.connections_refused_peer}});
  text.counters("connections_ended_total",
                "Connections closed by the server: idle, stalled, evicted for a new connection, or "
                "for memory.",
                "reason",
                {{"idle", metrics.ended_idle},
                 {"stalled", metrics.ended_stalled},
                 {"evicted", metrics.evicted},
                 {"memory", metrics.ended_for_memory}});
  text.counter("requests_refused_total",
               "Batches of large requests refused unexecuted for lack of memory.",
               metrics.requests_refused);
  text.counter("accept_failures_total", "Failures to accept a connection, such as no descriptors.",
               metrics.accept_failures);
  text.counter("bad_frames_total", "Connections closed for bad framing.", metrics.bad_frames);
}

void add_security(Text& text, const Metrics& metrics, std::int64_t certificate_expiry_s) {
  text.counter("tls_failures_total", "TLS handshakes that failed.", metrics.tls_failures);
  text.counter("tls_refused_total",
               "Connections closed before their TLS handshake, too many of one address.",
               metrics.tls_refused);
  text.gauge("certificate_expiry_seconds",
             "When the TLS certificate expires, in seconds since the Unix epoch; 0: no TLS.",
             std::uint64_t(certificate_expiry_s));
  text.counters("logins_total", "Keys checked for a login, by result.", "result",
                {{"accepted", metrics.logins_accepted}, {"refused", metrics.logins_refused}});
  text.counters("operator_logins_total", "Operator's keys checked, for creations, by result.",
                "result",
                {{"accepted", metrics.operator_logins_accepted},
                 {"refused", metrics.operator_logins_refused}});
  text.counter("key_hashes_total", "Hashes computed of keys.", metrics.key_hashes);
  text.counter("key_hash_microseconds_total", "Time spent hashing keys.", metrics.key_hash_us);
  text.gauge("key_queue_depth", "Request batches whose keys wait to be hashed.",
             metrics.key_queue_depth);
}

void add_store(Text& text, const Metrics& metrics, const Health& health, const StateLimits& state) {
  const std::uint64_t projected = metrics.projected_batch, batch = metrics.batch;
  text.gauge("journal_batch", "Newest committed batch.", batch);
  text.gauge("projected_batch", "Batch up to which the tables are updated.", projected);
  text.gauge("projection_lag_batches", "Committed batches that the tables lack.",
             batch > projected ? batch - projected : 0);
  text.single("exchange_projection_lag_seconds", "gauge",
              "Age of the oldest change that the tables lack.",
              double(health.projection_lag_ns(monotonic_ns())) / 1e9);
  text.gauge("accounts", "Accounts.", metrics.accounts);
  text.gauge("symbols", "Symbols.", metrics.symbols);
  text.gauge("open_orders", "Open orders.", metrics.open_orders);
  text.gauge("accounts_max", "Accounts at which further ones are refused.", state.accounts_max);
  text.gauge("symbols_max", "Symbols at which further ones are refused.", state.symbols_max);
  text.gauge("open_orders_max", "Open orders at which orders that would rest are refused.",
             state.open_orders_max);
  text.gauge("orders_in_memory", "Orders open or not projected yet.", metrics.orders_in_memory);
  text.counter("orders_read_total", "Closed orders read from the tables for clients.",
               metrics.orders_read);
  text.counter("lag_waits_total", "Times the core waited for the tables to catch up.",
               metrics.lag_waits);
  text.counter("store_failures_total", "Failed operations of the store.", metrics.store_failures);
  text.gauge("store_available", "1 while the store is reachable.", health.store_available());
}

void add_replication(Text& text, const Metrics& metrics, const StoreStatus& store,
                     const ServerInfo& info, bool active) {
  const std::uint64_t read_ns = metrics.journal_read_ns;
  text.gauge("active",
             "1 while this server serves; 0 in a standby, and while it cannot know whether another "
             "one serves.",
             active);
  text.gauge("epoch", "Counts the servers that have opened the store; 0: this one has not.",
             store.epoch);
  text.single("exchange_standby_lag_seconds", "gauge",
              "Time since this standby had last read the whole journal; 0 while active.",
              active || read_ns == 0 ? 0 : double(monotonic_ns() - std::int64_t(read_ns)) / 1e9);
  text.gauge("synchronous_standbys", "Synchronous standbys of PostgreSQL that commits wait for.",
             store.synchronous_standbys);
  text.gauge("replicas_required", "The value of --require-replicas.", info.replicas_required);
  text.counter("commits_in_doubt_total", "Commits whose outcome had to be looked up.",
               metrics.commits_in_doubt);
  text.counter("database_failovers_total",
               "Times this server went on to a newer primary of PostgreSQL.", store.failovers);
}

void add_http(Text& text, const Metrics& metrics) {
  text.counter("http_requests_total", "HTTP requests.", metrics.http_requests);
  text.counters("http_refused_total", "HTTP connections and responses refused, by limit.", "reason",
                {{"peer", metrics.http_refused_peer}, {"memory", metrics.http_refused_memory}});
  text.gauge("websockets", "Open WebSocket connections.", metrics.websockets);
  text.counter(
      "websockets_dropped_total",
      "WebSocket connections closed because the client read too slowly or stopped answering.",
      metrics.websockets_dropped);
}

}  // namespace

std::string prometheus_text(const Metrics& metrics, const Health& health, const StoreStatus& store,
                            const ServerInfo& info, std::int64_t certificate_expiry_s,
                            bool active) {
  Text text;
  const std::string policy = "policy=\"" + info.policy + "\"";
  text.gauge("info", "The running server.", 1,
             policy + ",threads=\"" + info.threads + "\",store=\"" + info.store + "\",version=\"" +
                 info.version + "\"");
  add_requests(text, metrics);
  add_batches(text, metrics);
  add_connections(text, metrics, policy);
  add_security(text, metrics, certificate_expiry_s);
  add_store(text, metrics, health, info.state);
  add_replication(text, metrics, store, info, active);
  add_http(text, metrics);
  add_process(text, info);
  return text.take() + "# EOF\n";
}

}  // namespace exchange
