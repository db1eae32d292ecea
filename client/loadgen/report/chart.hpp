#pragma once
// Charts as HTML figures around inline SVG: caption, legend, drawing. Nothing is fetched or
// scripted; colours are CSS variables (chart_style()), so that one drawing serves light, dark and
// paper. Pure functions, any thread.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace exchange::loadgen {

enum class Scale {
  linear,
  log,         // what is not above 0 is a gap
  percentile,  // of shares from 0.5 to 0.99999, by the logarithm of 1 / (1 - share)
};

struct Axis {
  std::string name;  // drawn beside it
  std::string unit;  // after each number of the readouts
  Scale scale = Scale::linear;
};

enum class Look { line, dashed, dots, crosses };
enum class Color { blue, orange, red, green, violet, grey };

struct ChartLine {
  std::string name;
  std::vector<double> values;  // one for each position; not finite: a gap
  Color color = Color::blue;
  Look look = Look::line;
};

struct Chart {
  std::string title;
  std::string note = {};  // a sentence under the title
  Axis x, y;
  std::vector<double> positions;  // on x, ascending
  std::vector<ChartLine> lines;
  std::optional<double> warm_up_end = {};                    // on x: shaded up to here
  std::optional<std::pair<double, std::string>> limit = {};  // on y: a level and its name
};

std::string figure(const Chart& chart);

// The style of all figures of a page.
const char* chart_style();

// How a latency is distributed: one curve for each of these, at the percentiles 50 to 99.999.
// Bucket: upper bound in microseconds, count; ascending. A curve ends where fewer than one value is
// left above it.
struct Distribution {
  std::string name;
  std::vector<std::pair<double, std::uint64_t>> buckets;
  Color color;
};
Chart percentile_chart(std::string title, const std::vector<Distribution>& distributions);

// Multiples of 1, 2 or 5 times a power of ten from `low` to `high`, about `count` of them.
std::vector<double> linear_ticks(double low, double high, unsigned count);
// Powers of ten around the values, with their multiples by 2 and 5 where these are few; the first
// is not above `low`, the last not below `high`.
std::vector<double> log_ticks(double low, double high);

}  // namespace exchange::loadgen
