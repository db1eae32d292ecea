#include "client/loadgen/report/csv.hpp"

namespace exchange::loadgen {
namespace {

constexpr const char* columns[] = {
    "second",           "warmup",           "planned_per_s",    "requests_per_s",
    "response_mean_ms", "response_p50_ms",  "response_p99_ms",  "response_max_ms",
    "service_p50_ms",   "service_p99_ms",   "errors",           "rejected",
    "in_flight",        "client_cpu_share", "server_cpu_share", "stolen_cpu_share"};

std::string field(const Json& value) {
  if (value.is_null()) return {};
  const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + '"';
}

template <class Field>
std::string line(const Field& field_of) {
  std::string text;
  for (const char* column : columns)
    text += std::string(column == columns[0] ? "" : ",") + field_of(column);
  return text + "\r\n";
}

}  // namespace

std::string csv_header() {
  return line([](const char* column) { return std::string(column); });
}

std::string csv_row(const Json& second) {
  return line([&](const char* column) { return field(at(second, {column})); });
}

}  // namespace exchange::loadgen
