#include "client/loadgen/report/page_blocks.hpp"

#include <cmath>
#include <string_view>
#include <utility>

namespace exchange::loadgen::page {
namespace {

std::string shell_word(const std::string& argument) {
  static constexpr std::string_view plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=+:,./@%";
  if (!argument.empty() && argument.find_first_not_of(plain) == std::string::npos) return argument;
  std::string quoted = "'";
  for (const char c : argument) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

// The shares of the requests at which a distribution has points: evenly on the page's axis.
const Values& shares() {
  static const Values points = [] {
    constexpr int steps_per_nine = 40, nines = 5;
    Values values{0.5};
    for (int step = 13; step <= nines * steps_per_nine; ++step)
      values.push_back(1 - std::pow(10, -double(step) / steps_per_nine));
    return values;
  }();
  return points;
}

}  // namespace

Json as(const char* kind, const Json& text) { return {{"text", text}, {"kind", kind}}; }

Json verdict(const Json& good, const char* yes, const char* no) {
  return good == Json(true) ? as("good", yes) : as("bad", no);
}

Json counted(const Json& count, const std::string& one) {
  return List{count, " " + one + (count == Json(1) ? "" : "s")};
}

Json percent(double share) { return List{100 * share, " %"}; }

Json text_block(List parts) { return {{"type", "text"}, {"text", std::move(parts)}}; }

Json command_block(const Json& arguments) {
  std::string command;
  for (const auto& argument : arguments)
    command += (command.empty() ? "" : " ") + shell_word(argument.get<std::string>());
  return {{"type", "pre"}, {"text", command}};
}

Json side_by_side(List blocks) { return {{"type", "columns"}, {"blocks", std::move(blocks)}}; }

Json table(const std::vector<std::string>& names, List rows, const Json& note) {
  Json columns = Json::array();
  for (const std::string& name : names) {
    const bool number = name.starts_with('#');
    columns.push_back({{"name", name.substr(number)}, {"number", number}});
  }
  return {{"type", "table"}, {"columns", columns}, {"rows", std::move(rows)}, {"note", note}};
}

Json line(const std::string& name, Values values, const char* color, const char* look) {
  return {{"name", name}, {"values", std::move(values)}, {"color", color}, {"look", look}};
}

Json distribution(const Json& title, List lines) {
  return {{"type", "chart"},
          {"title", title},
          {"note", "How many per cent of the requests took no longer"},
          {"x", {{"name", "percentile"}, {"scale", "percentile"}}},
          {"y", {{"name", "ms"}, {"unit", "ms"}, {"scale", "log"}}},
          {"positions", shares()},
          {"lines", std::move(lines)}};
}

Json distribution_line(const std::string& name, const Json& buckets, const char* color,
                       const char* look) {
  double total = 0, seen = 0;
  for (const auto& bucket : buckets) total += bucket[1].get<double>();
  Values values;
  auto bucket = buckets.begin();
  for (const double share : shares()) {
    for (; bucket != buckets.end(); ++bucket) {
      const double count = (*bucket)[1].get<double>();
      if (seen + count >= share * total) break;
      seen += count;
    }
    const bool ended = bucket == buckets.end() || (1 - share) * total < 1 - 1e-6;
    values.push_back(ended ? std::nan("") : (*bucket)[0].get<double>() / 1000);
  }
  return line(name, std::move(values), color, look);
}

}  // namespace exchange::loadgen::page
