#include "client/loadgen/server_stages.hpp"

#include <cstdlib>
#include <limits>
#include <sstream>

#include "client/connection/stream.hpp"

namespace exchange::loadgen {
namespace {

constexpr std::string_view metric = "exchange_stage_seconds";
constexpr std::string_view end_of_metrics = "# EOF\n";

// Returns the value of a label in `name{label="value",…}`.
std::string label(const std::string& line, const std::string& name) {
  const std::string wanted = name + "=\"";
  const std::size_t begin = line.find(wanted);
  if (begin == std::string::npos) return {};
  const std::size_t value = begin + wanted.size();
  return line.substr(value, line.find('"', value) - value);
}

// Returns the value below which a share `quantile` of the counts lies; assumes an even spread
// within each bucket.
double quantile(const std::vector<std::pair<double, std::uint64_t>>& buckets, double quantile) {
  const double rank = quantile * double(buckets.back().second);
  double low = 0;
  std::uint64_t below = 0;
  for (const auto& [bound, count] : buckets) {
    if (double(count) >= rank && count > below) {
      if (bound == std::numeric_limits<double>::infinity()) return low;
      return low + (bound - low) * (rank - double(below)) / double(count - below);
    }
    low = bound;
    below = count;
  }
  return low;
}

}  // namespace

StageReading parse_stages_of(const std::string& prometheus_text) {
  StageReading reading;
  std::istringstream lines(prometheus_text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(metric) || line.rfind(' ') == std::string::npos) continue;
    const std::string name = label(line, "stage");
    const char* const value = line.c_str() + line.rfind(' ') + 1;
    if (!reading.stages.contains(name)) reading.names.push_back(name);
    StageReading::Stage& stage = reading.stages[name];
    const std::string_view kind = std::string_view(line).substr(metric.size());
    if (kind.starts_with("_sum")) stage.sum_s = std::strtod(value, nullptr);
    if (!kind.starts_with("_bucket")) continue;
    const std::string bound = label(line, "le");
    stage.buckets.emplace_back(bound == "+Inf" ? std::numeric_limits<double>::infinity()
                                               : std::strtod(bound.c_str(), nullptr),
                               std::strtoull(value, nullptr, 10));
  }
  return reading;
}

StageReading read_stages(const client::Address& http, double timeout_s,
                         const client::StopFlag& stop) {
  try {
    client::Stream stream(client::connect_to(http, timeout_s, stop), http.text, timeout_s, stop);
    return parse_stages_of(stream.send_and_receive(
        "GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
        [](std::string_view bytes) { return bytes.ends_with(end_of_metrics); }));
  } catch (const client::Unreachable&) {
    return {};
  }
}

std::vector<StageLatency> between(const StageReading& before, const StageReading& after) {
  std::vector<StageLatency> latencies;
  for (const std::string& name : after.names) {
    StageReading::Stage stage = after.stages.at(name);
    if (const auto earlier = before.stages.find(name); earlier != before.stages.end()) {
      stage.sum_s -= earlier->second.sum_s;
      for (std::size_t i = 0; i < stage.buckets.size() && i < earlier->second.buckets.size(); ++i)
        stage.buckets[i].second -= earlier->second.buckets[i].second;
    }
    const std::uint64_t count = stage.buckets.empty() ? 0 : stage.buckets.back().second;
    if (count == 0) continue;
    latencies.push_back({name, count, stage.sum_s * 1e6 / double(count),
                         quantile(stage.buckets, 0.5) * 1e6, quantile(stage.buckets, 0.99) * 1e6});
  }
  return latencies;
}

}  // namespace exchange::loadgen
