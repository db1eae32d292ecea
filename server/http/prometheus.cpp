#include "http/prometheus.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <vector>

#include "engine/commands.hpp"

namespace exchange {
namespace {

constexpr const char* kind_names[] = {"create_account", "create_symbol", "place_shares",
                                      "order",          "cancel",        "query"};
constexpr const char* result_names[] = {"ok",
                                        "account_exists",
                                        "unknown_account",
                                        "unknown_order",
                                        "nothing_open",
                                        "insufficient_funds",
                                        "insufficient_shares",
                                        "cash_total_overflow",
                                        "shares_total_overflow",
                                        "reply_too_long",
                                        "key_unchecked"};
static_assert(std::size(kind_names) == Metrics::command_kinds &&
              std::size(result_names) == Metrics::command_results);

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
  // `bounds` in the histogram's own unit; `scale` of them make one unit of the metric.
  void histogram(const std::string& name, const std::string& labels, const Histogram& histogram,
                 const std::vector<double>& bounds, double scale) {
    std::vector<std::uint64_t> counts(bounds.size());
    // By their lowest value, so that whole numbers stand exactly where they belong, and none ever
    // moves.
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
        text.sample("exchange_commands_total",
                    std::string("kind=\"") + kind_names[kind] + "\",result=\"" +
                        result_names[result] + "\"",
                    double(count));
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

double seconds_since(const Metrics::Counter& since_ns) {
  const std::uint64_t since = since_ns, now = std::uint64_t(monotonic_ns());
  return since == 0 || now < since ? 0 : double(now - since) / 1e9;
}

void add_lag(Text& text, const Metrics& metrics) {
  const std::uint64_t projected = metrics.projected_batch, batch = metrics.batch;
  text.single("exchange_projection_lag_batches", "gauge", "Committed batches that the tables lack.",
              batch > projected ? double(batch - projected) : 0);
  text.single("exchange_projection_lag_seconds", "gauge",
              "Age of the oldest change that the tables lack.",
              std::max(seconds_since(metrics.offered_ns), seconds_since(metrics.unprojected_ns)));
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

}  // namespace

std::string prometheus_text(const Metrics& metrics, const ServerInfo& info) {
  Text text;
  const auto counter = [&](const std::string& name, const char* help, std::uint64_t value) {
    text.single("exchange_" + name, "counter", help, double(value));
  };
  const auto gauge = [&](const std::string& name, const char* help, std::uint64_t value,
                         const std::string& labels = {}) {
    text.single("exchange_" + name, "gauge", help, double(value), labels);
  };
  using Values = std::initializer_list<std::pair<const char*, std::uint64_t>>;
  const auto counters = [&](const std::string& name, const char* help, const std::string& label,
                            Values values) {
    text.family("exchange_" + name, "counter", help);
    for (const auto& [value, count] : values)
      text.sample("exchange_" + name, label + "=\"" + value + "\"", double(count));
  };
  const std::string policy = "policy=\"" + info.policy + "\"";
  gauge("info", "What runs.", 1,
        policy + ",threads=\"" + info.threads + "\",store=\"" + info.store + "\",version=\"" +
            info.version + "\"");
  counter("requests_total", "Requests received, refused ones included.", metrics.requests);
  add_commands(text, metrics);
  counter("client_errors_total", "Documents and elements refused before the engine.",
          metrics.client_errors);
  counter("executions_total", "Trades since the exchange was created.", metrics.executions);
  add_times(text, metrics.stage_times);

  static const std::vector<double> batch_bounds = decades(1, 1e4, {1, 2, 3, 5, 7});
  const Histogram batch_commands =
      metrics.batch_commands.with([](const Histogram& histogram) { return histogram; });
  text.family("exchange_batch_commands", "histogram", "Commands in a batch.");
  text.histogram("exchange_batch_commands", "", batch_commands, batch_bounds, 1);
  counter("batches_total", "Batches applied.", metrics.batches);
  counter("batches_committed_total", "Batches that changed state and were committed.",
          metrics.batches_committed);
  counter("journal_bytes_total", "Bytes of journal payload committed.", metrics.journal_bytes);
  counter("commit_microseconds_total", "Time spent in commits.", metrics.commit_us);
  gauge("queue_depth", "Submissions that wait for the core.",
        metrics.queue_depth + metrics.taken_depth);

  gauge("connections", "Open connections.", metrics.connections, policy);
  counter("connections_accepted_total", "Connections accepted.", metrics.connections_accepted);
  counters("connections_refused_total",
           "Connections refused, since there are too many: of all, or of their address.", "reason",
           {{"limit", metrics.connections_refused}, {"peer", metrics.connections_refused_peer}});
  counters("connections_ended_total", "Connections ended by the server, by what they did not do.",
           "reason",
           {{"idle", metrics.ended_idle},
            {"stalled", metrics.ended_stalled},
            {"room", metrics.evicted},
            {"memory", metrics.ended_for_memory}});
  counter("requests_refused_total",
          "Pipelines of large requests refused unexecuted for want of memory.",
          metrics.requests_refused);
  counter("accept_failures_total", "Failures to accept, such as no descriptors.",
          metrics.accept_failures);
  counter("bad_frames_total", "Connections closed for bad framing.", metrics.bad_frames);

  counter("tls_failures_total", "TLS handshakes that failed.", metrics.tls_failures);
  counters("logins_total", "Keys checked for a login, by result.", "result",
           {{"accepted", metrics.logins_accepted}, {"refused", metrics.logins_refused}});
  counter("key_hashes_total", "Hashes computed of keys.", metrics.key_hashes);
  counter("key_hash_microseconds_total", "Time spent hashing keys.", metrics.key_hash_us);
  gauge("key_queue_depth", "Waves of requests whose keys wait to be hashed.",
        metrics.key_queue_depth);

  gauge("journal_batch", "Newest committed batch.", metrics.batch);
  gauge("projected_batch", "Batch up to which the tables are true.", metrics.projected_batch);
  add_lag(text, metrics);
  gauge("orders_in_memory", "Orders open or not projected yet.", metrics.orders_in_memory);
  counter("orders_read_total", "Closed orders read from the tables for clients.",
          metrics.orders_read);
  counter("lag_waits_total", "Times the core waited for the tables to catch up.",
          metrics.lag_waits);
  counter("store_failures_total", "Failed operations of the store.", metrics.store_failures);
  gauge("store_available", "1 while the store is reachable.", metrics.store_available ? 1 : 0);

  counter("http_requests_total", "HTTP requests.", metrics.http_requests);
  counters("http_refused_total", "HTTP connections and responses refused, by limit.", "reason",
           {{"peer", metrics.http_refused_peer}, {"memory", metrics.http_refused_memory}});
  gauge("websockets", "Open WebSocket connections.", metrics.websockets);
  counter("websockets_dropped_total", "WebSocket connections cut off for reading too slowly.",
          metrics.websockets_dropped);
  add_process(text, info);
  return text.take() + "# EOF\n";
}

}  // namespace exchange
