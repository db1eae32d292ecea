#include "metrics/metric.hpp"

#include <algorithm>
#include <cstdio>

namespace exchange {
namespace {

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.15g", value);
  return text;
}

// Returns the upper bounds of a histogram's buckets: each step of each decade from `first` up to
// `last`, then `last`.
std::vector<double> decades(double first, double last, std::initializer_list<double> steps) {
  std::vector<double> bounds;
  for (double decade = first; decade < last; decade *= 10)
    for (const double step : steps) bounds.push_back(decade * step);
  bounds.push_back(last);
  return bounds;
}

}  // namespace

std::string metric_label(std::string_view name, std::string_view value) {
  return std::string(name).append("=\"").append(value) + '"';
}

void MetricText::family(std::string_view name, std::string_view type, std::string_view help) {
  text_.append("# HELP ").append(name).append(" ").append(help);
  text_.append("\n# TYPE ").append(name).append(" ").append(type).append("\n");
}

void MetricText::sample(std::string_view name, const std::string& labels, double value) {
  text_.append(name);
  if (!labels.empty()) text_ += "{" + labels + "}";
  text_ += " " + number(value) + "\n";
}

void MetricText::histogram(const std::string& name, const std::string& labels,
                           const Histogram& histogram, Unit unit) {
  static const std::vector<double> bounds_ns = decades(1e3, 1e10, {1, 1.5, 2, 3, 5, 7});
  static const std::vector<double> bounds_of_numbers = decades(1, 1e4, {1, 2, 3, 5, 7});
  const auto& bounds = unit == Unit::nanoseconds ? bounds_ns : bounds_of_numbers;
  const double units_of_one = unit == Unit::nanoseconds ? 1e9 : 1;
  std::vector<std::uint64_t> counts(bounds.size());
  // Each value counts as the lowest value of its bucket: whole numbers are exact, and a count never
  // moves to another bound.
  histogram.for_each_bucket([&](std::uint64_t lowest, std::uint64_t, std::uint64_t count) {
    const auto bound = std::lower_bound(bounds.begin(), bounds.end(), double(lowest));
    if (bound != bounds.end()) counts[std::size_t(bound - bounds.begin())] += count;
  });
  const std::string first = labels.empty() ? "" : labels + ",";
  std::uint64_t below = 0;
  for (std::size_t i = 0; i < bounds.size(); ++i)
    sample(name + "_bucket", first + metric_label("le", number(bounds[i] / units_of_one)),
           double(below += counts[i]));
  sample(name + "_bucket", first + metric_label("le", "+Inf"), double(histogram.count()));
  sample(name + "_sum", labels, double(histogram.sum()) / units_of_one);
  sample(name + "_count", labels, double(histogram.count()));
}

}  // namespace exchange
