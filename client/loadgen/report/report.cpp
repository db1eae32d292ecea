#include "client/loadgen/report/report.hpp"

#include <algorithm>
#include <cmath>
#include <cstdarg>

#include "base/version.hpp"
#include "client/loadgen/report/json.hpp"

namespace exchange::loadgen {
namespace {

// Returns 0 if there are no values.
double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::nth_element(values.begin(), values.begin() + std::ptrdiff_t(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

// Formats as printf does.
[[gnu::format(printf, 1, 2)]] std::string text(const char* format, ...) {
  char buffer[512];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(buffer, sizeof buffer, format, arguments);
  va_end(arguments);
  return buffer;
}

std::string grouped(std::uint64_t number) { return exact_text(double(number)); }

// Returns "12 wrong answer, 3 timeout", or "none".
template <class Kind, std::size_t N>
std::string list(const std::array<std::uint64_t, N>& counts, char separator = ' ') {
  std::string listed;
  for (std::size_t i = 0; i < N; ++i)
    if (counts[i] > 0)
      listed +=
          (listed.empty() ? "" : ", ") + grouped(counts[i]) + " " + name_with(separator, Kind(i));
  return listed.empty() ? "none" : listed;
}

std::string latencies(const Histogram& ns) {
  std::string row;
  for (const Measure measure : {Measure::mean, Measure::p50, Measure::p90, Measure::p95,
                                Measure::p99, Measure::p99_9, Measure::max})
    row += text(row.empty() ? "%9.3f" : " %9.3f", latency_ms(measure, ns));
  return row;
}

// Returns "5.49 us per request, 45 % of a CPU, 12.3 MB, 100 + 3 context switches per 1000
// requests".
std::string describe(const Consumption& consumption, std::uint64_t answered) {
  const Usage& used = consumption.used;
  std::string described;
  if (answered > 0) described += text("%.2f us per request, ", used.cpu_s * 1e6 / double(answered));
  described += text("%.0f %% of a CPU", 100 * used.cpu_s / std::max(1e-9, consumption.seconds));
  if (used.resident_bytes) described += text(", %.1f MB", double(*used.resident_bytes) / 1e6);
  if (used.voluntary_switches && used.involuntary_switches && answered > 0)
    described += text(", %.1f + %.1f context switches per 1000 requests (waited + preempted)",
                      1e3 * double(*used.voluntary_switches) / double(answered),
                      1e3 * double(*used.involuntary_switches) / double(answered));
  return described;
}

std::string counted(std::uint64_t count, const char* one) {
  return grouped(count) + " " + one + (count == 1 ? "" : "s");
}

std::string describe_load(const Options& options) {
  const LoadOptions& load = options.load;
  std::string described =
      std::string(to_string(options.workload.kind)) + ", " + counted(load.clients, "client");
  if (load.idle_connections > 0)
    described += " and " + counted(load.idle_connections, "idle connection");
  if (load.pipeline > 1) described += text(", %u requests in flight each", load.pipeline);
  if (load.workers > 1) described += text(", %u workers", load.workers);
  described += ", " + name_with('-', load.connection) + " connections";
  if (load.protocol != Protocol::xml)
    described += ", orders in JSON by " + std::string(to_string(load.protocol));
  if (load.open_loop())
    described += ", open loop, " + std::string(to_string(load.arrivals)) + " arrivals";
  described += ", seed " + std::to_string(options.workload.seed);
  if (!load.check_replies()) described += ", replies not checked";
  return described;
}

// The text report shows shares in per cent.
std::string unit_for_people(const Expectation& expectation) {
  const std::string unit = expectation.unit();
  return unit == "share" ? "%" : unit;
}
double for_people(const Expectation& expectation, double value) {
  return unit_for_people(expectation) == "%" ? value * 100 : value;
}

std::string joined(const std::vector<Expectation>& conditions) {
  std::string text;
  for (const Expectation& one : conditions) text += (text.empty() ? "" : ",") + one.text;
  return text;
}

void line(std::FILE* out, const char* label, const std::string& value) {
  std::fprintf(out, "%-14s %s\n", label, value.c_str());
}

void print_problems(std::FILE* out, const Examples& examples) {
  for (const auto& [label, example] : {std::pair{"first rejected", &examples.rejection},
                                       {"not connected", &examples.connect_error},
                                       {"wrong answer", &examples.wrong_answer}})
    if (!example->empty()) line(out, label, *example);
}

// Whether many requests were lost on open connections although the server accepted all connections
// and ran to the end: it probably closes the connection after a reply.
bool closes_after_reply(const Report& report) {
  const Counts& counts = report.result.counts;
  return report.options.load.connection == ConnectionUse::persistent && counts.answered > 0 &&
         counts.errors[std::size_t(ErrorClass::refused)] == 0 && !report.result.stopped_early &&
         4 * counts.errors[std::size_t(ErrorClass::reset)] > counts.answered;
}

void print_audit(std::FILE* out, const AuditResult& audit) {
  if (audit.orders + audit.accounts == 0)
    line(out, "audit", audit.findings.empty() ? "NOTHING was audited" : "FAILED");
  else
    line(
        out, "audit",
        text("%s: %s, %s, %s, %s of cash moved; %.1f s", audit.passed ? "passed" : "FAILED",
             counted(audit.orders, "order").c_str(), counted(audit.executions, "execution").c_str(),
             counted(audit.accounts, "account").c_str(), audit.cash_moved.c_str(), audit.seconds));
  for (const std::string& finding : audit.findings) line(out, "", finding);
  if (!audit.not_checked.empty()) line(out, "not audited", audit.not_checked);
}

void print_capacity(std::FILE* out, const Report& report) {
  std::fprintf(out, "%-14s %12s %12s %10s\n", "tries", "planned/s", "achieved/s", "p99 ms");
  for (const CapacityTry& one : report.capacity->tries)
    std::fprintf(out, "%-14s %12.0f %12.0f %10.3f  %s\n", "", one.planned_per_s, one.achieved_per_s,
                 one.response_p99_ms, one.held ? "held" : "not held");
}

// The result is printed first: the text after it describes only the last try.
void print_capacity_found(std::FILE* out, const Report& report) {
  const Capacity& capacity = *report.capacity;
  line(out, "CAPACITY",
       (capacity.requests_per_s > 0
            ? "highest rate held twice: " + grouped(std::uint64_t(capacity.requests_per_s)) +
                  " requests/s"
            : std::string("no rate was held twice")) +
           ", with " + joined(report.options.capacity_while));
  if (capacity.closed_loop_per_s > 0)
    line(out, "",
         text("for comparison, a closed loop without a plan: %s requests/s, p99 %.1f ms",
              grouped(std::uint64_t(capacity.closed_loop_per_s)).c_str(),
              capacity.closed_loop_p99_ms));
  line(out, "", "the figures from here on are those of the last try");
}

Json latencies_json(const Histogram& ns) {
  Json json;
  for (std::size_t i = 0; i <= std::size_t(Measure::max); ++i)
    json[std::string(to_string(Measure(i)))] = latency_ms(Measure(i), ns);
  return json;
}

Json buckets_json(const Histogram& ns) {
  Json buckets = Json::array();
  ns.for_each([&](std::uint64_t highest, std::uint64_t count) {
    buckets.push_back({double(highest) / 1e3, count});
  });
  return buckets;
}

template <class Kind, std::size_t N>
Json counts_json(const std::array<std::uint64_t, N>& counts, char separator = ' ') {
  Json json = Json::object();
  for (std::size_t i = 0; i < N; ++i) json[name_with(separator, Kind(i))] = counts[i];
  return json;
}

// Converts a described struct to an object, an enumerator to its name, an empty value to null.
template <class Value>
Json json_of(const Value& value);
template <class Value>
Json json_of(const std::optional<Value>& value) {
  return value ? json_of(*value) : Json();
}
template <class Value>
Json json_of(const std::vector<Value>& values) {
  Json json = Json::array();
  for (const Value& value : values) json.push_back(json_of(value));
  return json;
}
// Includes the newer kinds only if the mix has them: reports of other mixes do not change.
Json json_of(const Mix& mix) {
  Json json{{"create", 0}, {"order", 0}, {"query", 0}, {"cancel", 0}};
  for_each_member<Mix>([&](auto weight) {
    if (mix.*weight.pointer > 0 || json.contains(weight.name))
      json[weight.name] = mix.*weight.pointer;
  });
  return json;
}
template <class Value>
Json json_of(const Value& value) {
  if constexpr (std::is_enum_v<Value>) {
    return name_with('-', value);
  } else if constexpr (boost::describe::has_describe_members<Value>::value) {
    Json json = Json::object();
    for_each_member<Value>(
        [&](auto member) { json[member.name] = json_of(value.*member.pointer); });
    return json;
  } else {
    return value;
  }
}

Json consumption_json(const std::optional<Consumption>& consumption, std::uint64_t answered,
                      double cpus = 1) {
  if (!consumption) return {};
  const Usage& used = consumption->used;
  return {{"cpu_s", used.cpu_s},
          {"cpu_us_per_request", answered > 0 ? Json(used.cpu_s * 1e6 / double(answered)) : Json()},
          {"cpu_share", used.cpu_s / std::max(1e-9, consumption->seconds) / cpus},
          {"resident_bytes", json_of(used.resident_bytes)},
          {"voluntary_switches", json_of(used.voluntary_switches)},
          {"involuntary_switches", json_of(used.involuntary_switches)}};
}

// Returns "loop" from "policy=loop threads=2 store=…"; empty if the key is missing.
std::string word_after(const std::string& description, const std::string& key) {
  const std::size_t begin = description.find(key + "=");
  if (begin == std::string::npos) return {};
  const std::size_t value = begin + key.size() + 1;
  return description.substr(value, description.find_first_of(" :", value) - value);
}

Json server_json(const Report& report) {
  const std::string policy = word_after(report.server, "policy"),
                    store = word_after(report.server, "store"),
                    threads = word_after(report.server, "threads");
  const bool counted =
      !threads.empty() && threads.find_first_not_of("0123456789") == std::string::npos;
  return {{"description", report.server},
          {"policy", policy.empty() ? Json() : Json(policy)},
          {"store", store.empty() ? Json() : Json(store)},
          // null if each client has a thread
          {"threads", counted ? Json(std::stoul(threads)) : Json()},
          {"cpus", report.options.local_server.cpus}};
}

Json load_json(const Options& options) {
  const LoadOptions& load = options.load;
  Json json{{"mode", load.open_loop() ? "open" : "closed"}};
  json.update(json_of(load));
  if (load.duration_s || load.open_loop()) json["requests"] = nullptr;
  if (!load.open_loop()) json["arrivals"] = nullptr;
  json["ramp_up_clients_per_s"] = json_of(load.ramp_up_per_s);
  json["client_cpus"] = options.client_cpus;
  json["reply_check"] = load.check_replies();
  return json;
}

Json workload_json(const Workload& workload) {
  Json json = json_of(workload.options());
  json["accounts"] = workload.trades() ? workload.accounts() : 0;
  return json;
}

Json result_json(const RunResult& result) {
  const Counts& counts = result.counts;
  return {{"seconds", result.seconds},
          {"answered", counts.answered},
          {"requests_per_s", result.requests_per_s()},
          {"planned", counts.planned},
          {"unsent", result.unsent},
          {"client_lateness_p99_ms", latency_ms(Measure::p99, counts.lateness_ns)},
          {"stopped_early", result.stopped_early},
          {"stolen_cpu_share", json_of(result.stolen_cpu_share)},
          {"response_ms", latencies_json(counts.response_ns)},
          {"service_ms", latencies_json(counts.service_ns)},
          {"response_histogram", buckets_json(counts.response_ns)},
          {"service_histogram", buckets_json(counts.service_ns)},
          {"errors", counts_json<ErrorClass>(counts.errors)},
          {"sent_again", counts.sent_again},
          {"rejected", counts_json<Asked>(counts.rejected, '_')},
          {"first_rejection", result.examples.rejection},
          {"first_wrong_answer", result.examples.wrong_answer},
          {"first_connect_error", result.examples.connect_error},
          {"deviations", result.deviations.sentences()}};
}

Json audit_json(const std::optional<AuditResult>& audit) {
  if (!audit) return {};
  return {{"passed", audit->passed},         {"orders", audit->orders},
          {"executions", audit->executions}, {"accounts", audit->accounts},
          {"cash_moved", audit->cash_moved}, {"findings", audit->findings},
          {"seconds", audit->seconds},       {"not_checked", audit->not_checked}};
}

// The measured value and its limit belong to the first condition.
Json capacity_json(const Capacity& capacity, const std::vector<Expectation>& conditions) {
  Json trials = Json::array();
  for (const CapacityTry& one : capacity.tries)
    trials.push_back({{"requests_per_s", one.planned_per_s},
                      {"achieved_per_s", one.achieved_per_s},
                      {"response_p99_ms", one.response_p99_ms},
                      {"measured", for_people(conditions.front(), one.measured)},
                      {"held", one.held}});
  return {{"expectation", joined(conditions)},
          {"unit", unit_for_people(conditions.front())},
          {"limit", for_people(conditions.front(), conditions.front().bound)},
          {"requests_per_s", capacity.requests_per_s},
          {"trials", trials}};
}

}  // namespace

double measured(Measure measure, const RunResult& result) {
  switch (measure) {
    case Measure::errors: return result.error_share();
    case Measure::rejected: return result.rejected_share();
    case Measure::rate: return result.requests_per_s();
    default: return latency_ms(measure, result.counts.response_ns);
  }
}

std::vector<Judgement> judge(const std::vector<Expectation>& expectations,
                             const RunResult& result) {
  std::vector<Judgement> judgements;
  for (const Expectation& expectation : expectations) {
    const bool latency = std::string_view(expectation.unit()) == "ms";
    // A run without any answer has no latency.
    const double value = latency && result.counts.response_ns.count() == 0
                             ? NAN
                             : measured(expectation.measure, result);
    judgements.push_back({expectation, value, expectation.met(value)});
  }
  return judgements;
}

std::string client_bottleneck(const RunResult& result, const LoadOptions& load, unsigned cpus,
                              unsigned server_cpus) {
  // Uses the seconds, not the whole run: one late reply at the end must not hide a client that was
  // busy before.
  std::vector<double> client, server;
  for (const Second& second : result.series) {
    if (second.warmup) continue;
    client.push_back(second.client_cpu_share * double(load.workers) /
                     double(std::min(load.workers, cpus)));
    if (second.server_cpu_share) server.push_back(*second.server_cpu_share / double(server_cpus));
  }
  const double client_share = median(client), server_share = median(server);
  if (client_share > 0.9 && server_share < client_share)
    return text("it used %.0f %% of the CPU it could%s", 100 * client_share,
                load.workers < cpus ? " (--workers may help)" : "");
  if (result.stolen_cpu_share.value_or(0) > stolen_cpu_share_max) return {};  // late because of it
  // 1 ms is the lateness that timers and the scheduler cause even in a client with free capacity.
  const double late_ms = latency_ms(Measure::p99, result.counts.lateness_ns),
               response_ms = latency_ms(Measure::p99, result.counts.response_ns);
  if (late_ms > 1 && late_ms > response_ms / 5)
    return text(
        "1 %% of the requests left %.1f ms or more after their planned time; it used %.0f %% of "
        "its CPU and waited for the rest, which the server or other processes used (--client-cpus "
        "and --server-cpus keep them apart)",
        late_ms, 100 * client_share);
  return {};
}

bool no_errors_but_those_judged(const std::vector<Expectation>& expectations,
                                const Counts& counts) {
  const bool judged =
      std::any_of(expectations.begin(), expectations.end(),
                  [](const Expectation& one) { return one.measure == Measure::errors; });
  const std::uint64_t wrong = counts.errors[std::size_t(ErrorClass::wrong_answer)] +
                              counts.errors[std::size_t(ErrorClass::protocol)];
  return (judged ? wrong : counts.errors_in_all()) == 0;
}

bool Report::all_well() const {
  const bool expected = std::all_of(judgements.begin(), judgements.end(),
                                    [](const Judgement& judgement) { return judgement.met; });
  return expected && result.counts.answered > 0 &&
         no_errors_but_those_judged(options.expectations, result.counts) && !result.stopped_early &&
         (!audit || audit->passed) && (!capacity || capacity->requests_per_s > 0);
}

void print_text(std::FILE* out, const Report& report) {
  const RunResult& result = report.result;
  const Counts& counts = result.counts;
  if (!report.bottleneck.empty())
    std::fprintf(
        out, "WARNING: the client was the bottleneck, the server could do more than this: %s.\n",
        report.bottleneck.c_str());
  if (result.stolen_cpu_share.value_or(0) > stolen_cpu_share_max)
    std::fprintf(out,
                 "WARNING: the hypervisor took %.1f %% of this machine's CPU time: the latencies "
                 "include pauses that are not the server's.\n",
                 100 * *result.stolen_cpu_share);
  std::fprintf(out, "%s; %s\n", describe_load(report.options).c_str(), report.server.c_str());
  if (report.capacity) print_capacity_found(out, report);
  line(out, "requests",
       grouped(counts.answered) + text(" answered in %.3f s%s", result.seconds,
                                       result.stopped_early ? ", stopped early" : ""));
  if (report.options.load.open_loop())
    line(out, "plan",
         grouped(counts.planned) + " planned, " + grouped(result.unsent) +
             " of them not sent in time: no client was free");
  if (counts.answered == 0) line(out, "", "NOTHING was answered in the measured part");
  line(out, "throughput",
       grouped(std::uint64_t(std::llround(result.requests_per_s()))) + " requests/s");
  std::fprintf(out, "%-14s %9s %9s %9s %9s %9s %9s %9s\n", "latency (ms)", "mean", "p50", "p90",
               "p95", "p99", "p99.9", "max");
  line(out, "  response",
       latencies(counts.response_ns) +
           (report.options.load.open_loop() ? "  from the planned time" : ""));
  line(out, "  service", latencies(counts.service_ns) + "  from the send");
  line(out, "errors", list<ErrorClass>(counts.errors));
  if (report.options.load.retry) line(out, "sent again", grouped(counts.sent_again) + " requests");
  line(out, "rejected", list<Asked>(counts.rejected, '_'));
  print_problems(out, result.examples);
  for (const std::string& sentence : result.deviations.sentences())
    line(out, "deviation", sentence);
  if (closes_after_reply(report))
    line(out, "advice",
         "the server closes connections after a reply: try --connection per-request");
  line(out, "client CPU", describe(result.client, counts.answered));
  if (result.server) line(out, "server CPU", describe(*result.server, counts.answered));
  if (result.database) line(out, "database CPU", describe(*result.database, counts.answered));
  if (!report.stages.empty()) {
    std::string stages;
    for (const StageLatency& stage : report.stages)
      stages += (stages.empty() ? "" : ", ") + stage.name + text(" %.0f", stage.mean_us);
    line(out, "server stages", stages + " (mean us)");
  }
  if (report.capacity) print_capacity(out, report);
  if (report.audit) print_audit(out, *report.audit);
  for (const Judgement& judgement : report.judgements)
    line(out, "expected",
         judgement.expectation.text + (judgement.met ? ": met (" : ": MISSED (") +
             text("%.4g ", for_people(judgement.expectation, judgement.measured)) +
             unit_for_people(judgement.expectation) + ")");
}

Json to_json(const Report& report) {
  const RunResult& result = report.result;
  const Options& options = report.options;
  const std::uint64_t answered = result.counts.answered;
  Json expectations = Json::array();
  for (const Judgement& judgement : report.judgements)
    expectations.push_back(
        {{"text", judgement.expectation.text},
         {"measured", std::isfinite(judgement.measured)
                          ? Json(for_people(judgement.expectation, judgement.measured))
                          : Json()},
         {"unit", unit_for_people(judgement.expectation)},
         {"met", judgement.met}});
  Json stages = report.stages.empty() ? Json() : Json::object();
  for (const StageLatency& stage : report.stages)
    stages[stage.name] = {{"count", stage.count},
                          {"mean", stage.mean_us},
                          {"p50", stage.p50_us},
                          {"p99", stage.p99_us}};
  Json json = {{"format", "exchange-loadgen/1"},
               {"commit", commit()},
               {"started", report.started},
               {"command", options.command},
               {"machine", json_of(report.machine)},
               {"server", server_json(report)},
               {"load", load_json(options)},
               {"workload", workload_json(report.workload)},
               {"result", result_json(result)},
               {"client",
                consumption_json(result.client, answered,
                                 std::max(1u, std::min(options.load.workers, report.client_cpus)))},
               {"server_process", consumption_json(result.server, answered)},
               {"database", consumption_json(result.database, answered)},
               {"client_was_the_bottleneck", !report.bottleneck.empty()},
               {"expectations", expectations},
               {"audit", audit_json(report.audit)},
               {"server_stages_us", stages},
               {"series", json_of(result.series)}};
  if (report.capacity) json["capacity"] = capacity_json(*report.capacity, options.capacity_while);
  return json;
}

}  // namespace exchange::loadgen
