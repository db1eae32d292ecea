#include "client/loadgen/report/policies_report.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <tuple>
#include <utility>

#include "client/loadgen/report/compare.hpp"
#include "client/loadgen/report/numbers.hpp"
#include "client/loadgen/report/page_blocks.hpp"

namespace exchange::loadgen {
namespace {

using namespace page;

const std::vector<const char*> colors = {"orange", "green", "blue", "violet", "red", "grey"};
const char* color(std::size_t nth) { return colors[nth % colors.size()]; }

std::vector<Json> runs_of(const Json& cell) { return cell["runs"].get<std::vector<Json>>(); }

// {median, least, greatest} of the runs that have the figure; null if none has.
Json spread(const std::vector<Json>& runs, Keys keys) {
  Values values;
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

// The response times of all runs together.
Json merged_histogram(const std::vector<Json>& runs) {
  std::map<double, double> buckets;
  for (const Json& run : runs)
    for (const auto& bucket : at(run, {"result", "response_histogram"}))
      buckets[bucket[0].get<double>()] += bucket[1].get<double>();
  Json merged = Json::array();
  for (const auto& [highest, count] : buckets) merged.push_back({highest, count});
  return merged;
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

// The cells of each number of CPUs, as they stand in the document.
std::vector<std::vector<const Json*>> by_cores(const Json& policies) {
  std::vector<std::vector<const Json*>> groups;
  for (const Json& cell : policies["cells"]) {
    if (groups.empty() || (*groups.back().front())["cores"] != cell["cores"]) groups.emplace_back();
    groups.back().push_back(&cell);
  }
  return groups;
}

// A report of any cell; null if there is none.
const Json& any_run(const Json& policies) {
  static const Json nothing;
  for (const Json& cell : policies["cells"])
    if (!cell["runs"].empty()) return cell["runs"].front();
  return nothing;
}

bool open_loop(const Json& policies) {
  return at(any_run(policies), {"load", "mode"}) == Json("open");
}

// By what policies are ranked: by the response p99 where a plan gives all the same rate.
struct Rank {
  const char *figure, *metric, *unit;
  double better;  // 1 or -1: of the greater
};
Rank rank_of(const Json& policies) {
  if (open_loop(policies)) return {"response_p99_ms", "response p99", "ms p99", -1};
  return {"requests_per_s", "throughput", "requests/s", 1};
}

// "0.970 of that (no difference seen)": of the medians; compare() has the interval.
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
  constexpr double apart_max = 1.5;  // the greatest rate of a cell to its least
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

// Bars and figures of several groups of runs.
List figure_cells(const Json& figures, double greatest_rate) {
  const auto median = [&](const char* figure) { return at(figures, {figure, "median"}); };
  const double rate = number_at(figures, {"requests_per_s", "median"});
  return {Json{{"bar", {0, std::isfinite(rate) ? rate / greatest_rate : 0}}},
          median("requests_per_s"),
          at(figures, {"requests_per_s", "least"}),
          at(figures, {"requests_per_s", "greatest"}),
          median("response_p50_ms"),
          median("response_p99_ms"),
          median("response_p99_9_ms"),
          median("server_cpu_us_per_request"),
          median("client_cpu_us_per_request"),
          at(figures, {"errors"})};
}
const std::vector<std::string> figure_columns = {
    "throughput", "#requests/s", "#least",         "#greatest",      "#p50, ms",
    "#p99, ms",   "#p99.9, ms",  "#server µs/req", "#client µs/req", "#errors"};

std::vector<std::string> columns_after(std::vector<std::string> first) {
  first.insert(first.end(), figure_columns.begin(), figure_columns.end());
  return first;
}

double greatest_rate(const std::vector<Json>& all_figures) {
  double greatest = 1e-9;
  for (const Json& figures : all_figures)
    if (const double rate = number_at(figures, {"requests_per_s", "median"}); rate > greatest)
      greatest = rate;
  return greatest;
}

Json section(const char* id, const char* title, List blocks) {
  return {{"id", id}, {"title", title}, {"blocks", std::move(blocks)}};
}

Json notice(const char* kind, const Json& text, List details = {}) {
  return {{"kind", kind}, {"text", text}, {"details", std::move(details)}};
}

List texts(const std::vector<std::string>& sentences) {
  return List(sentences.begin(), sentences.end());
}

// Values of each policy over the numbers of CPUs that were measured.
Json over_cores(const Json& policies, const char* title, const char* figure, const char* unit,
                const char* scale) {
  Values positions;
  std::vector<std::pair<std::string, Values>> by_policy;
  for (const auto& cells : by_cores(policies)) {
    if (!cells.front()->at("not_run").is_null()) continue;
    positions.push_back((*cells.front())["cores"].get<double>());
    for (const Json* cell : cells) {
      const std::string policy = text_at(*cell, {"policy"});
      auto found = std::find_if(by_policy.begin(), by_policy.end(),
                                [&](const auto& one) { return one.first == policy; });
      if (found == by_policy.end()) found = by_policy.insert(by_policy.end(), {policy, {}});
      found->second.push_back(number_at(*cell, {figure, "median"}));
    }
  }
  List lines;
  for (auto& [policy, values] : by_policy)
    lines.push_back(line(policy, std::move(values), color(lines.size())));
  return {{"type", "chart"},
          {"title", title},
          {"note", "Medians of the rounds"},
          {"x", {{"name", "CPUs of the server"}, {"unit", "CPUs"}}},
          {"y", {{"name", unit}, {"unit", unit}, {"scale", scale}}},
          {"positions", positions},
          {"lines", std::move(lines)}};
}

}  // namespace

void add_summary(Json& policies) {
  for (Json& cell : policies["cells"]) {
    if (cell["runs"].empty()) continue;
    Json runs = std::move(cell["runs"]);  // which are long, behind the figures
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

Json policies_page(const Json& policies) {
  List notices, details, rows, curves;
  for (const auto& one : policies["answers"]) details.push_back(text_at(one, {"text"}));
  if (!details.empty()) notices.push_back(notice("good", "Which policy is first", details));
  if (!policies["warnings"].empty())
    notices.push_back(notice("warn", "What limits these figures", policies["warnings"]));

  const double greatest = greatest_rate(policies["cells"].get<std::vector<Json>>());
  for (const auto& cells : by_cores(policies)) {
    const Json& cores = (*cells.front())["cores"];
    if (const std::string why = text_at(*cells.front(), {"not_run"}); !why.empty()) {
      rows.push_back(List{cores, "not run: " + why});
      continue;
    }
    List lines;
    for (const Json* cell : cells) {
      const Json& policy = (*cell)["policy"];
      List row{cores, policy};
      if ((*cell)["runs"].empty()) {
        row.push_back("not measured");
      } else {
        const List figures = figure_cells(*cell, greatest);
        row.insert(row.end(), figures.begin(), figures.end());
        lines.push_back(distribution_line(policy.get<std::string>(),
                                          merged_histogram(runs_of(*cell)), color(lines.size())));
      }
      rows.push_back(row);
    }
    if (!lines.empty())
      curves.push_back(distribution("Response time, server on " + cpus_text(cores), lines));
  }

  List cpus;
  for (const auto& cells : by_cores(policies))
    if (const Json& server = (*cells.front())["server_cpus"]; !server.empty())
      cpus.push_back(List{(*cells.front())["cores"], list_text(server),
                          list_text((*cells.front())["client_cpus"]), (*cells.front())["workers"]});
  List sections{
      section("figures", "Figures",
              {table(columns_after({"#CPUs", "policy"}), rows,
                     "Medians of the rounds; least and greatest are of the throughput.")}),
      section("cpus", "Over the number of CPUs",
              {side_by_side(
                  {over_cores(policies, "Throughput", "requests_per_s", "requests/s", "linear"),
                   over_cores(policies, "Response p99", "response_p99_ms", "ms", "log")})})};
  if (!curves.empty()) sections.push_back(section("latency", "Latency", {side_by_side(curves)}));
  List tables{table({"#CPUs of the server", "server on", "clients on", "#client threads"}, cpus),
              Json{{"type", "values"}, {"title", "Machine"}, {"values", policies["machine"]}}};
  if (Json workload = at(any_run(policies), {"workload"}); workload.is_object()) {
    workload.erase("account_prefix");  // new in each run
    tables.push_back({{"type", "values"}, {"title", "Workload"}, {"values", workload}});
  }
  sections.push_back(
      section("setup", "Set-up", {command_block(policies["command"]), side_by_side(tables)}));
  return {
      {"title", "Thread policies on " + text_at(policies, {"machine", "cpu"})},
      {"about", {describe(policies), " · ", policies["started"], " · commit ", policies["commit"]}},
      {"notices", notices},
      {"sections", sections}};
}

Json comparison_page(const std::vector<RunGroup>& groups, const std::string& about,
                     const std::vector<std::string>& warnings) {
  std::vector<Json> figures;
  for (const RunGroup& group : groups) figures.push_back(figures_of(group.runs));
  const double greatest = greatest_rate(figures);
  List rows, lines, setups;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    List row{groups[i].name};
    const List cells = figure_cells(figures[i], greatest);
    row.insert(row.end(), cells.begin(), cells.end());
    rows.push_back(row);
    lines.push_back(distribution_line(groups[i].name, merged_histogram(groups[i].runs), color(i)));
    setups.push_back(text_block({as("strong", groups[i].name), ": ",
                                 at(groups[i].runs.front(), {"server", "description"})}));
    setups.push_back(command_block(at(groups[i].runs.front(), {"command"})));
  }
  const List sections{section("figures", "Figures", {table(columns_after({"runs"}), rows)}),
                      section("latency", "Latency", {distribution("Response time", lines)}),
                      section("setup", "Set-up", setups)};
  List notices;
  if (!warnings.empty())
    notices.push_back(notice("warn", "What to know about these runs", texts(warnings)));
  return {{"title", "Load tests side by side"},
          {"about", about},
          {"notices", notices},
          {"sections", sections}};
}

}  // namespace exchange::loadgen
