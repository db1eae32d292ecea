#include "client/loadgen/report/policies_report.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "client/loadgen/report/compare.hpp"
#include "client/loadgen/report/numbers.hpp"

namespace exchange::loadgen {
namespace {

std::vector<Json> runs_of(const Json& cell) { return cell["runs"].get<std::vector<Json>>(); }

// Returns {median, least, greatest} of the runs that have the figure; null if no run has it.
Json spread(const std::vector<Json>& runs, Keys keys) {
  std::vector<double> values;
  for (const Json& run : runs)
    if (const double value = number_at(run, keys); std::isfinite(value)) values.push_back(value);
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  const double median =
      values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
  return {{"median", median}, {"least", values.front()}, {"greatest", values.back()}};
}

double errors_of(const std::vector<Json>& runs) {
  double errors = 0;
  for (const Json& run : runs)
    for (const auto& count : at(run, {"result", "errors"})) errors += count.get<double>();
  return errors;
}

Json figures_of(const std::vector<Json>& runs) {
  return {{"requests_per_s", spread(runs, {"result", "requests_per_s"})},
          {"response_p50_ms", spread(runs, {"result", "response_ms", "p50"})},
          {"response_p99_ms", spread(runs, {"result", "response_ms", "p99"})},
          {"response_p99_9_ms", spread(runs, {"result", "response_ms", "p99_9"})},
          {"server_cpu_us_per_request", spread(runs, {"server_process", "cpu_us_per_request"})},
          {"client_cpu_us_per_request", spread(runs, {"client", "cpu_us_per_request"})},
          {"errors", errors_of(runs)}};
}

std::string cpus_text(const Json& count) {
  return to_text(count) + (count == Json(1) ? " CPU" : " CPUs");
}

std::string list_text(const Json& numbers) {
  std::string text;
  for (const auto& number : numbers) text += (text.empty() ? "" : ",") + to_text(number);
  return text;
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

bool shares(const Json& cell) { return cell["server_cpus"] == cell["client_cpus"]; }

// Groups the cells by number of CPUs, in the order of the document.
std::vector<std::vector<const Json*>> by_cores(const Json& policies) {
  std::vector<std::vector<const Json*>> groups;
  for (const Json& cell : policies["cells"]) {
    if (groups.empty() || (*groups.back().front())["cores"] != cell["cores"]) groups.emplace_back();
    groups.back().push_back(&cell);
  }
  return groups;
}

// Returns a report of any cell; null if there is no report.
const Json& any_run(const Json& policies) {
  static const Json nothing;
  for (const Json& cell : policies["cells"])
    if (!cell["runs"].empty()) return cell["runs"].front();
  return nothing;
}

bool open_loop(const Json& policies) {
  return at(any_run(policies), {"load", "mode"}) == Json("open");
}

// The figure that ranks policies: the response p99 if a plan gives all the same rate, else
// throughput.
struct Rank {
  const char *figure, *metric, *unit;
  double better;  // 1: the greater is better; -1: the smaller
};
Rank rank_of(const Json& policies) {
  if (open_loop(policies)) return {"response_p99_ms", "response p99", "ms p99", -1};
  return {"requests_per_s", "throughput", "requests/s", 1};
}

// Returns "0.970 of that (no difference seen)". The ratio compares the medians; compare() gives the
// interval.
std::string compared_text(const Json& first, const Json& other, const Rank& rank) {
  const double ratio =
      number_at(other, {rank.figure, "median"}) / number_at(first, {rank.figure, "median"});
  std::string text = number_text(ratio) + " of that";
  for (const MetricComparison& one : compare(runs_of(first), runs_of(other), 0).metrics) {
    if (one.name != rank.metric) continue;
    if (!one.interval) return text + " (too few runs to tell)";
    if (one.verdict == Verdict::no_difference_seen) return text + " (no difference seen)";
    text +=
        " (" + number_text(one.interval->first) + " to " + number_text(one.interval->second) + ")";
  }
  return text;
}

Json answer(std::vector<const Json*> cells, const Rank& rank) {
  const auto median = [&](const Json* cell) { return number_at(*cell, {rank.figure, "median"}); };
  const Json& cores = (*cells.front())["cores"];
  std::erase_if(cells, [&](const Json* cell) { return !(median(cell) > 0); });
  if (cells.empty()) return {};
  std::stable_sort(cells.begin(), cells.end(), [&](const Json* a, const Json* b) {
    return rank.better * median(a) > rank.better * median(b);
  });
  const Json& first = *cells.front();
  std::string text = cpus_text(cores) + ": " + text_at(first, {"policy"}) + " is first, " +
                     number_text(median(&first)) + " " + rank.unit;
  for (std::size_t i = 1; i < cells.size(); ++i)
    text += "; " + text_at(*cells[i], {"policy"}) + " " + compared_text(first, *cells[i], rank);
  return {{"cores", cores}, {"first", first["policy"]}, {"text", text}};
}

std::vector<std::string> warnings_of(const Json& policies) {
  std::vector<std::string> warnings;
  constexpr double apart_max = 1.5;  // the greatest rate of a cell divided by its least
  double stolen = 0, apart = apart_max;
  std::string unsteady;  // the cell whose rounds differ most
  for (const Json& cell : policies["cells"]) {
    const std::string name = text_at(cell, {"policy"}) + " on " + cpus_text(cell["cores"]);
    if (const double times = number_at(cell, {"requests_per_s", "greatest"}) /
                             number_at(cell, {"requests_per_s", "least"});
        times > apart) {
      apart = times;
      unsteady = name;
    }
    std::size_t bound = 0;
    for (const Json& run : cell["runs"]) {
      bound += true_at(run, {"client_was_the_bottleneck"});
      if (const double share = number_at(run, {"result", "stolen_cpu_share"}); share > stolen)
        stolen = share;
    }
    if (bound > 0 && !shares(cell))
      warnings.push_back(name + ": the client was the bottleneck in " + std::to_string(bound) +
                         " of " + std::to_string(cell["runs"].size()) +
                         " runs: the server could do more");
    if (!cell["problem"].is_null())
      warnings.push_back(name + ": " + first_line(text_at(cell, {"problem"})));
  }
  for (const auto& cells : by_cores(policies))
    if (!cells.front()->at("server_cpus").empty() && shares(*cells.front()))
      warnings.push_back(cpus_text((*cells.front())["cores"]) +
                         ": server and clients share them, so the server could do more on as many "
                         "of its own");
  if (!unsteady.empty())
    warnings.push_back(unsteady + ": one round had " + number_text(apart) +
                       " times the rate of another: other work on this machine disturbs the runs");
  if (stolen > stolen_cpu_share_max)
    warnings.push_back("a hypervisor took up to " + number_text(100 * stolen) +
                       " % of the machine's CPU time, so that latencies include its pauses");
  if (true_at(policies, {"interrupted"})) warnings.push_back("interrupted before the last run");
  return warnings;
}

std::string describe(const Json& policies) {
  const Json& run = any_run(policies);
  if (run.is_null()) return "Nothing was measured.";
  const double seconds = number_at(run, {"load", "duration_s"});
  return to_text(at(run, {"load", "clients"})) + " clients, " + text_at(run, {"load", "mode"}) +
         " loop, " + text_at(run, {"workload", "kind"}) + ", store " +
         text_at(run, {"server", "store"}) + "; medians of " + to_text(policies["rounds"]) +
         " rounds" + (std::isfinite(seconds) ? " of " + number_text(seconds) + " s" : "");
}

}  // namespace

void add_summary(Json& policies) {
  for (Json& cell : policies["cells"]) {
    if (cell["runs"].empty()) continue;
    Json runs = std::move(cell["runs"]);  // moves the long runs behind the figures
    cell.erase("runs");
    cell.update(figures_of(runs.get<std::vector<Json>>()));
    cell["runs"] = std::move(runs);
  }
  const Rank rank = rank_of(policies);
  policies["answers"] = Json::array();
  for (const auto& cells : by_cores(policies))
    if (Json one = answer(cells, rank); !one.is_null()) policies["answers"].push_back(one);
  policies["warnings"] = warnings_of(policies);
}

std::string policies_text(const Json& policies) {
  std::string text = describe(policies) + "\n\n";
  char row[256];
  std::snprintf(row, sizeof row, "%4s  %-8s %12s %12s %12s %9s %9s %9s %10s %10s %8s\n", "CPUs",
                "policy", "requests/s", "least", "greatest", "p50 ms", "p99 ms", "p99.9 ms",
                "server us", "client us", "errors");
  text += row;
  for (const auto& cells : by_cores(policies)) {
    const std::string cores = to_text((*cells.front())["cores"]);
    if (const std::string why = text_at(*cells.front(), {"not_run"}); !why.empty()) {
      std::snprintf(row, sizeof row, "%4s  not run: %s\n", cores.c_str(), why.c_str());
      text += row;
      continue;
    }
    for (const Json* cell : cells) {
      const std::string policy = text_at(*cell, {"policy"});
      if ((*cell)["runs"].empty()) {
        std::snprintf(row, sizeof row, "%4s  %-8s not measured\n", cores.c_str(), policy.c_str());
        text += row;
        continue;
      }
      const auto figure = [&](const char* name, const char* which = "median") {
        return number_text(number_at(*cell, {name, which}));
      };
      std::snprintf(row, sizeof row, "%4s  %-8s %12s %12s %12s %9s %9s %9s %10s %10s %8s\n",
                    cores.c_str(), policy.c_str(), figure("requests_per_s").c_str(),
                    figure("requests_per_s", "least").c_str(),
                    figure("requests_per_s", "greatest").c_str(), figure("response_p50_ms").c_str(),
                    figure("response_p99_ms").c_str(), figure("response_p99_9_ms").c_str(),
                    figure("server_cpu_us_per_request").c_str(),
                    figure("client_cpu_us_per_request").c_str(),
                    exact_text(number_at(*cell, {"errors"})).c_str());
      text += row;
    }
  }
  text += "\n";
  for (const auto& cells : by_cores(policies))
    if (const Json& server = (*cells.front())["server_cpus"]; !server.empty())
      text += cpus_text((*cells.front())["cores"]) + ": server on " + list_text(server) +
              ", clients on " + list_text((*cells.front())["client_cpus"]) + "\n";
  text += "\n";
  for (const auto& one : policies["answers"]) text += text_at(one, {"text"}) + "\n";
  for (const auto& warning : policies["warnings"])
    text += "WARNING: " + warning.get<std::string>() + "\n";
  return text;
}

}  // namespace exchange::loadgen
