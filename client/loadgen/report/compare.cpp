#include "client/loadgen/report/compare.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <functional>
#include <iomanip>
#include <numeric>
#include <ostream>
#include <set>
#include <sstream>
#include <stdexcept>

#include "client/connection/option_checks.hpp"
#include "client/loadgen/options.hpp"

namespace exchange::loadgen {
namespace {

using Runs = std::vector<Json>;
using Values = std::vector<double>;

constexpr const char* report_format = "exchange-loadgen/1";
constexpr double confidence = 0.95;
constexpr std::size_t batches_max = 20;  // of one run
constexpr std::size_t batches_min = 3;   // of one side

double errors_of(const Json& run) { return sum(at(run, {"result", "errors"})); }
double answered_of(const Json& run) { return number_at(run, {"result", "answered"}); }
double wrong_answers_of(const Json& run) {
  const double protocol = number_at(run, {"result", "errors", "protocol"}),
               wrong = number_at(run, {"result", "errors", "wrong answer"});
  return (std::isfinite(protocol) ? protocol : 0) + (std::isfinite(wrong) ? wrong : 0);
}

double total(const Runs& runs, double (*count)(const Json&)) {
  return std::accumulate(runs.begin(), runs.end(), 0.0,
                         [&](double so_far, const Json& run) { return so_far + count(run); });
}

using Figure = std::function<double(const Json&)>;

// Reads the number under these keys.
template <class... Key>
Figure under(Key... keys) {
  return [=](const Json& json) { return number_at(json, {keys...}); };
}

// Divides a CPU share by the request rate: proportional to the CPU time of a request.
Figure share_per_request(const char* share) {
  return [=](const Json& second) {
    return number_at(second, {share}) / number_at(second, {"requests_per_s"});
  };
}

// Uses the median for a second without a mean.
double mean_of_second(const Json& second) {
  const double mean = number_at(second, {"response_mean_ms"});
  return std::isfinite(mean) ? mean : number_at(second, {"response_p50_ms"});
}

// Adds half an error, so that a run without errors has a logarithm.
double error_share_of_run(const Json& run) {
  return 100 * (errors_of(run) + 0.5) / (answered_of(run) + errors_of(run) + 1);
}

double error_share_of_second(const Json& second) {
  const double errors = number_at(second, {"errors"});
  return errors / (number_at(second, {"requests_per_s"}) + errors);
}

struct Metric {
  const char *name, *unit;
  bool more_is_better;
  Figure of_run;
  // only its relative spread counts; p99.9 uses that of the maxima, which is too wide rather than
  // too narrow
  Figure of_second;
};

const Metric metrics[] = {
    {"throughput", "requests/s", true, under("result", "requests_per_s"), under("requests_per_s")},
    {"response mean", "ms", false, under("result", "response_ms", "mean"), mean_of_second},
    {"response p50", "ms", false, under("result", "response_ms", "p50"), under("response_p50_ms")},
    {"response p99", "ms", false, under("result", "response_ms", "p99"), under("response_p99_ms")},
    {"response p99.9", "ms", false, under("result", "response_ms", "p99_9"),
     under("response_max_ms")},
    {"service p99", "ms", false, under("result", "service_ms", "p99"), under("service_p99_ms")},
    {"server CPU", "us/request", false, under("server_process", "cpu_us_per_request"),
     share_per_request("server_cpu_share")},
    {"client CPU", "us/request", false, under("client", "cpu_us_per_request"),
     share_per_request("client_cpu_share")},
};
const Metric error_share{"errors", "% of requests", false, error_share_of_run,
                         error_share_of_second};

// The mean of a side on a logarithmic scale, the variance of that mean, and the number of values.
struct Estimate {
  double log_mean, variance_of_mean, values;
};

std::pair<double, double> mean_and_variance(const Values& values) {
  const double count = double(values.size()),
               mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return {mean, count > 1 ? squares / (count - 1) : 0};
}

// Uses values above 0 only: others have no ratio.
Values values_of(const Runs& runs, const Metric& metric) {
  Values values;
  for (const Json& run : runs)
    if (const double value = metric.of_run(run); std::isfinite(value) && value > 0)
      values.push_back(value);
  return values;
}

Values logarithms(Values values) {
  for (double& value : values) value = std::log(value);
  return values;
}

std::optional<Estimate> estimate_from_runs(const Runs& runs, const Metric& metric) {
  const Values logs = logarithms(values_of(runs, metric));
  if (logs.size() < 2) return std::nullopt;
  const auto [mean, variance] = mean_and_variance(logs);
  return Estimate{mean, variance / double(logs.size()), double(logs.size())};
}

void add_batches(const Json& series, const Metric& metric, Values& batches) {
  if (!series.is_array() || series.empty()) return;
  Values seconds;
  const double whole = 0.9;  // the last second may be partial
  const auto end_of = [&](std::size_t i) {
    return i < series.size() ? number_at(series[i], {"second"}) : 0;
  };
  const bool last_is_whole =
      series.size() > 1 && end_of(series.size() - 1) - end_of(series.size() - 2) >= whole;
  for (std::size_t i = 0; i + (last_is_whole ? 0 : 1) < series.size(); ++i)
    if (const double value = metric.of_second(series[i]);
        !true_at(series[i], {"warmup"}) && std::isfinite(value))
      seconds.push_back(value);
  const std::size_t count = std::min(seconds.size(), batches_max);
  for (std::size_t batch = 0; batch < count; ++batch) {
    const auto first = seconds.begin() + std::ptrdiff_t(batch * seconds.size() / count),
               end = seconds.begin() + std::ptrdiff_t((batch + 1) * seconds.size() / count);
    batches.push_back(std::accumulate(first, end, 0.0) / double(end - first));
  }
}

// Estimates only the uncertainty from the seconds; the mean comes from the whole runs.
std::optional<Estimate> estimate_from_seconds(const Runs& runs, const Metric& metric) {
  const Values logs = logarithms(values_of(runs, metric));
  Values batches;
  for (const Json& run : runs) add_batches(at(run, {"series"}), metric, batches);
  if (logs.empty() || batches.size() < batches_min) return std::nullopt;
  const auto [mean, variance] = mean_and_variance(batches);
  if (mean <= 0) return std::nullopt;
  return Estimate{mean_and_variance(logs).first, variance / (mean * mean) / double(batches.size()),
                  double(batches.size())};
}

std::pair<double, double> interval_of_ratio(const Estimate& a, const Estimate& b) {
  const double difference = b.log_mean - a.log_mean,
               variance = a.variance_of_mean + b.variance_of_mean;
  if (variance <= 0) return {std::exp(difference), std::exp(difference)};
  const auto share = [](const Estimate& side) {
    return side.variance_of_mean * side.variance_of_mean / (side.values - 1);
  };
  const boost::math::students_t distribution(variance * variance / (share(a) + share(b)));
  const double margin =
      boost::math::quantile(distribution, 0.5 + confidence / 2) * std::sqrt(variance);
  return {std::exp(difference - margin), std::exp(difference + margin)};
}

MetricComparison compare_metric(const Runs& a, const Runs& b, const Metric& metric, bool from_runs,
                                double tolerance_percent) {
  MetricComparison result{.name = metric.name, .unit = metric.unit};
  const auto mean = [&](const Runs& runs) {
    return std::exp(mean_and_variance(logarithms(values_of(runs, metric))).first);
  };
  result.a = mean(a);
  result.b = mean(b);
  result.ratio = result.b / result.a;
  if (!std::isfinite(result.ratio)) return result;
  const auto estimate = from_runs ? estimate_from_runs : estimate_from_seconds;
  const auto of_a = estimate(a, metric), of_b = estimate(b, metric);
  result.verdict = Verdict::cannot_tell;
  if (!of_a || !of_b) return result;
  result.interval = interval_of_ratio(*of_a, *of_b);
  const bool changed = result.interval->first > 1 || result.interval->second < 1;
  const bool better = metric.more_is_better == (result.ratio > 1);
  result.verdict = !changed ? Verdict::no_difference_seen
                   : better ? Verdict::better
                            : Verdict::worse;
  result.beyond_tolerance = changed && std::abs(result.ratio - 1) > tolerance_percent / 100;
  return result;
}

// If a side has no errors, there is no ratio and no uncertainty.
MetricComparison compare_errors(const Runs& a, const Runs& b, bool from_runs,
                                double tolerance_percent) {
  const double in_a = total(a, errors_of), in_b = total(b, errors_of);
  MetricComparison result{.name = error_share.name, .unit = error_share.unit};
  if (in_a > 0 && in_b > 0)
    result = compare_metric(a, b, error_share, from_runs, tolerance_percent);
  result.a = in_a > 0 ? 100 * in_a / (in_a + total(a, answered_of)) : 0;
  result.b = in_b > 0 ? 100 * in_b / (in_b + total(b, answered_of)) : 0;
  if (in_a > 0 && in_b > 0) return result;
  result.ratio = std::nan("");
  result.verdict = in_a > 0   ? Verdict::better
                   : in_b > 0 ? Verdict::worse
                              : Verdict::no_difference_seen;
  result.beyond_tolerance = in_a != in_b;
  return result;
}

std::string plain(const Json& value) {
  return value.is_null() ? "none" : value.is_string() ? value.get<std::string>() : to_text(value);
}

std::string joined(const std::vector<std::string>& parts, const char* separator) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : separator) + part;
  return text;
}

// Returns the different values of a key on one side.
std::set<std::string> values_at(const Runs& runs, const char* group, const char* key) {
  std::set<std::string> values;
  for (const Json& run : runs) values.insert(plain(at(run, {group, key})));
  return values;
}

std::vector<std::string> differences(const Runs& a, const Runs& b) {
  // A description may name a port; accounts are new in each run, and so are symbols if a run is
  // audited.
  static const std::set<std::string> may_differ = {"server.description", "workload.account_prefix",
                                                   "workload.symbol_prefix"};
  std::vector<std::string> found;
  for (const char* group : {"load", "workload", "server", "machine"}) {
    std::vector<std::string> keys;
    for (const Runs* side : {&a, &b})
      for (const Json& run : *side)
        if (const Json& object = at(run, {group}); object.is_object())
          for (const auto& [key, value] : object.items())
            if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
    for (const std::string& key : keys) {
      const std::string name = group + ("." + key);
      const auto in_a = values_at(a, group, key.c_str()), in_b = values_at(b, group, key.c_str());
      const auto text = [](const std::set<std::string>& values) {
        return joined({values.begin(), values.end()}, " and ");
      };
      if (in_a != in_b && !may_differ.contains(name))
        found.push_back(name + ": A " + text(in_a) + ", B " + text(in_b));
    }
  }
  return found;
}

bool any(const Runs& runs, Keys keys, bool value) {
  return std::any_of(runs.begin(), runs.end(),
                     [&](const Json& run) { return at(run, keys) == Json(value); });
}

std::vector<std::string> warnings_of(const Runs& a, const Runs& b) {
  std::vector<std::string> warnings;
  for (const auto& [name, runs] : {std::pair<std::string, const Runs&>{"A", a}, {"B", b}}) {
    if (any(runs, {"client_was_the_bottleneck"}, true))
      warnings.push_back(
          name + ": the client was the bottleneck, so that its figures are not the server's");
    double stolen = 0;
    for (const Json& run : runs)
      if (const Json& share = at(run, {"result", "stolen_cpu_share"}); share.is_number())
        stolen = std::max(stolen, share.get<double>());
    if (stolen > stolen_cpu_share_max)
      warnings.push_back(name + ": a hypervisor took up to " + number_text(100 * stolen) +
                         " % of the machine's CPU time, so that latencies include its pauses");
    if (any(runs, {"result", "stopped_early"}, true)) warnings.push_back(name + ": stopped early");
    for (const Json& run : runs)
      if (const Json& expectations = at(run, {"expectations"}); expectations.is_array())
        for (const auto& expectation : expectations)
          if (at(expectation, {"met"}) == Json(false))
            warnings.push_back(name + ": did not meet " + text_at(expectation, {"text"}));
  }
  if (any(a, {"audit", "passed"}, false)) warnings.push_back("A: the audit failed");
  return warnings;
}

std::string change_text(const MetricComparison& metric) {
  if (!std::isfinite(metric.ratio)) return {};
  return " (" + number_text(metric.a) + " to " + number_text(metric.b) + " " + metric.unit + ")";
}

std::vector<std::string> regressions_of(const Runs& a, const Runs& b,
                                        const std::vector<MetricComparison>& compared) {
  std::vector<std::string> found;
  if (total(b, wrong_answers_of) > 0 && total(a, wrong_answers_of) == 0)
    found.push_back("B has " + exact_text(total(b, wrong_answers_of)) + " wrong answers, A none");
  else if (total(b, errors_of) > 0 && total(a, errors_of) == 0)
    found.push_back("B has " + exact_text(total(b, errors_of)) + " errors, A none");
  if (any(b, {"audit", "passed"}, false)) found.push_back("B: the audit failed");
  const auto answered_nothing = [](const Json& run) { return answered_of(run) == 0; };
  if (std::any_of(b.begin(), b.end(), answered_nothing) &&
      std::none_of(a.begin(), a.end(), answered_nothing))
    found.push_back("B: a run was not answered at all");
  for (const MetricComparison& metric : compared)
    if (metric.verdict == Verdict::worse && metric.beyond_tolerance && std::isfinite(metric.ratio))
      found.push_back(metric.name + " is worse" + change_text(metric));
  return found;
}

// Text of a comparison.

std::string ratio_text(double ratio) {
  if (!std::isfinite(ratio)) return "-";
  char text[32];
  std::snprintf(text, sizeof text, ratio < 100 ? "%.3f" : "%.0f", ratio);
  return text;
}

std::string verdict_text(const MetricComparison& metric, double tolerance_percent) {
  std::string text = name_with(' ', metric.verdict);
  const bool within = (metric.verdict == Verdict::better || metric.verdict == Verdict::worse) &&
                      !metric.beyond_tolerance;
  return within ? text + ", within " + exact_text(tolerance_percent) + " %" : text;
}

// Lists those of throughput and response p99, which every report has, without an interval, as
// "throughput, response p99".
std::string metrics_without_interval(const Comparison& comparison) {
  std::vector<std::string> names;
  for (const MetricComparison& metric : comparison.metrics)
    for (const Metric& required : {metrics[0], metrics[3]})
      if (metric.name == required.name &&
          (metric.verdict == Verdict::cannot_tell || metric.verdict == Verdict::not_measured))
        names.push_back(metric.name);
  return joined(names, ", ");
}

void print(std::ostream& out, const Comparison& comparison) {
  const auto row = [&](const std::string& name, const std::string& a, const std::string& b,
                       const std::string& ratio, const std::string& interval,
                       const std::string& verdict) {
    out << std::left << std::setw(26) << name << std::right << std::setw(12) << a << std::setw(12)
        << b << std::setw(9) << ratio << std::setw(18) << interval << "   " << verdict << "\n";
  };
  row("", "A", "B", "B/A", "95 % interval", "B is");
  for (const MetricComparison& metric : comparison.metrics)
    row(metric.name + ", " + metric.unit, number_text(metric.a), number_text(metric.b),
        ratio_text(metric.ratio),
        metric.interval
            ? ratio_text(metric.interval->first) + " to " + ratio_text(metric.interval->second)
            : "-",
        verdict_text(metric, comparison.tolerance_percent));
  if (!comparison.intervals_from_runs)
    out << "\nThe intervals come from the seconds of single runs and understate how much runs "
           "differ from each other.\n"
           "Several runs a side tell more: compare "
           "A1.json,A2.json,A3.json B1.json,B2.json,B3.json\n";
  if (!comparison.unlike.empty()) {
    out << "\nWARNING: the runs were not made alike:\n";
    for (const std::string& difference : comparison.unlike) out << "  " << difference << "\n";
  }
  if (!comparison.warnings.empty()) out << "\n";
  for (const std::string& warning : comparison.warnings) out << "WARNING: " << warning << "\n";
  out << "\n";
  if (const std::string unknown = metrics_without_interval(comparison); !unknown.empty())
    out << "Cannot tell: " << unknown
        << " without an interval. Each side needs answers in five measured seconds, or in two "
           "runs.\n";
  else if (comparison.regressions.empty())
    out << "No regression beyond " << exact_text(comparison.tolerance_percent) << " %.\n";
  for (const std::string& regression : comparison.regressions)
    out << "REGRESSION: " << regression << "\n";
}

// Returns "A  a1.json, a2.json  (commit 1436c54)".
std::string heading(const char* side, const std::vector<std::string>& files, const Runs& runs) {
  std::set<std::string> commits;
  for (const Json& run : runs) commits.insert(text_at(run, {"commit"}));
  return std::string(side) + "  " + joined(files, ", ") + "  (commit " +
         joined({commits.begin(), commits.end()}, ", ") + ")\n";
}

// Throws std::runtime_error, which names the file and the error.
Json read_report(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error(path + ": cannot be read: " + std::strerror(errno));
  Json report;
  try {
    report = Json::parse(file);
  } catch (const Json::exception& error) {
    // the reason follows the library's error name, which is in brackets
    const std::string_view reason = error.what();
    throw std::runtime_error(
        path + ": is not JSON: " +
        std::string(reason.substr(std::min(reason.size(), reason.find("] ") + 2))));
  }
  const std::string format = text_at(report, {"format"});
  if (format != report_format)
    throw std::runtime_error(path + ": is not a report of loadgen: its format is " +
                             (format.empty() ? "not given" : "\"" + format + "\"") + ", not \"" +
                             report_format + "\"");
  if (!std::isfinite(answered_of(report)))
    throw std::runtime_error(path + ": result.answered is missing");
  for (const Metric& metric : {metrics[0], metrics[3]})
    if (!std::isfinite(metric.of_run(report)))
      throw std::runtime_error(path + ": the result has no " + metric.name);
  return report;
}

std::vector<std::string> split(const std::string& names) {
  std::vector<std::string> parts;
  std::istringstream in(names);
  for (std::string part; std::getline(in, part, ',');)
    if (!part.empty()) parts.push_back(part);
  return parts;
}

}  // namespace

Comparison compare(const Runs& a, const Runs& b, double tolerance_percent) {
  Comparison comparison{.tolerance_percent = tolerance_percent,
                        .intervals_from_runs = a.size() > 1 && b.size() > 1};
  for (const Metric& metric : metrics)
    comparison.metrics.push_back(
        compare_metric(a, b, metric, comparison.intervals_from_runs, tolerance_percent));
  comparison.metrics.push_back(
      compare_errors(a, b, comparison.intervals_from_runs, tolerance_percent));
  comparison.unlike = differences(a, b);
  comparison.warnings = warnings_of(a, b);
  comparison.regressions = regressions_of(a, b, comparison.metrics);
  return comparison;
}

int compare_main(int argc, const char* const* argv, std::ostream& out, std::ostream& errors) {
  CLI::App app(
      "Compares the reports of two runs, or of several each: did B do worse than A?\n"
      "Further reports are compared with A too.\n"
      "Exit code: 0 no regression, 1 regression: worse by more than the tolerance and by more than "
      "chance,\nor errors where A has none, or a failed audit in B; 2 usage, or a file that "
      "cannot be used;\n"
      "4 cannot tell: throughput or response p99 has no interval. Each side needs five measured "
      "seconds, or two runs.",
      "loadgen compare");
  std::vector<std::string> given;
  double tolerance_percent = 5;
  app.add_option("REPORTS", given,
                 "of the run to compare with, then of those in question; several runs of one side "
                 "as A1.json,A2.json")
      ->required()
      ->expected(-2);
  app.add_option("--tolerance", tolerance_percent, "per cent that a figure may be worse")
      ->check(client::is_from(0.0, 1'000.0))
      ->capture_default_str();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error, out, errors) == 0 ? exit_ok : exit_usage;
  }
  try {
    std::vector<Runs> sides;
    std::vector<std::vector<std::string>> files;
    for (const std::string& names : given) {
      files.push_back(split(names));
      if (files.back().empty()) throw std::runtime_error("each side needs a file");
      Runs& side = sides.emplace_back();
      for (const std::string& path : files.back()) side.push_back(read_report(path));
    }
    bool worse = false, unknown = false;
    for (std::size_t i = 1; i < sides.size(); ++i) {
      const Comparison one = compare(sides[0], sides[i], tolerance_percent);
      out << (i > 1 ? "\n" : "") << heading("A", files[0], sides[0])
          << heading("B", files[i], sides[i]) << "\n";
      print(out, one);
      worse |= !one.regressions.empty();
      unknown |= !metrics_without_interval(one).empty();
    }
    if (worse) return exit_wrong;
    return unknown ? exit_cannot_tell : exit_ok;
  } catch (const std::exception& error) {
    errors << "loadgen compare: " << error.what() << "\n";
    return exit_usage;
  }
}

}  // namespace exchange::loadgen
