#include "client/loadgen/report/chart.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include "client/loadgen/report/markup.hpp"

namespace exchange::loadgen {
namespace {

// Of the drawing; it is scaled to the width of the page.
constexpr double width = 560, height = 250, top = 26, bottom = height - 40, right = width - 14;
constexpr double character_width = 8.4;    // of the largest text, that of a phone
constexpr std::size_t readouts_max = 240;  // narrower ones cannot be pointed at
constexpr std::size_t drawn_points_max = 1'000;
constexpr std::size_t dotted_points_max = 40;  // up to here each point has a dot
constexpr double nothing = std::numeric_limits<double>::quiet_NaN();
constexpr double percentile_low = 0.5, percentile_high = 0.99999;

std::string coordinate(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", value);
  return text;
}

std::string attribute(const char* name, double value) {
  return std::string(" ") + name + "=\"" + coordinate(value) + '"';
}

// 0.999 as "99.9 %".
std::string percent_text(double share) {
  const double nines = -std::log10(1 - share);
  char text[32];
  std::snprintf(text, sizeof text, "%.*f", int(nines + 1e-6), 100 * share);
  std::string digits = text;
  if (digits.find('.') != std::string::npos) digits.erase(digits.find_last_not_of("0") + 1);
  if (digits.back() == '.') digits.pop_back();
  return digits + " %";
}

std::string with_unit(std::string number, const std::string& unit) {
  return unit.empty() ? number : number + " " + unit;
}

std::string color_class(Color color) { return "c" + std::to_string(int(color)); }
const char* look_class(Look look) {
  switch (look) {
    case Look::line: return "solid";
    case Look::dashed: return "dashed";
    case Look::dots: return "dots";
    case Look::crosses: return "crosses";
  }
  return "";
}
bool is_line(Look look) { return look == Look::line || look == Look::dashed; }

// Where the numbers of an axis lie on the drawing.
class Ruler {
 public:
  Ruler(Scale scale, double low, double high, std::vector<double> ticks, double from, double to)
      : ticks_(std::move(ticks)),
        scale_(scale),
        low_(place(low)),
        high_(place(high)),
        from_(from),
        to_(to) {}

  double operator()(double value) const {
    return from_ + (place(value) - low_) / (high_ - low_) * (to_ - from_);
  }
  bool shows(double value) const {
    return std::isfinite(value) && (scale_ != Scale::log || value > 0);
  }
  std::string text(double tick) const {
    return scale_ == Scale::percentile ? percent_text(tick) : exact_text(tick);
  }
  const std::vector<double>& ticks() const { return ticks_; }

 private:
  double place(double value) const {
    switch (scale_) {
      case Scale::linear: return value;
      case Scale::log: return std::log10(value);
      case Scale::percentile: return -std::log10(1 - value);
    }
    return value;
  }

  const std::vector<double> ticks_;
  const Scale scale_;
  const double low_, high_, from_, to_;
};

struct Range {
  double low = std::numeric_limits<double>::infinity(),
         high = -std::numeric_limits<double>::infinity();
  void add(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  bool empty() const { return low > high; }
};

class Drawing {
 public:
  explicit Drawing(const Chart& chart)
      : chart_(chart), y_(y_ruler(chart)), left_(left_margin(y_)), x_(x_ruler(chart, left_)) {}

  std::string svg() const {
    std::string out = "<svg class=\"chart\" viewBox=\"0 0 560 250\" role=\"img\" aria-label=\"" +
                      escaped(spoken()) + "\">\n";
    out += warm_up() + axes() + limit();
    for (const ChartLine& line : chart_.lines)
      out += is_line(line.look) ? path(line) + dots(line) : marks(line);
    return out + readouts() + "</svg>\n";
  }

 private:
  static Ruler y_ruler(const Chart& chart) {
    const bool log = chart.y.scale == Scale::log;
    Range range;
    const auto add = [&](double value) {
      if (std::isfinite(value) && (!log || value > 0)) range.add(value);
    };
    for (const ChartLine& line : chart.lines)
      std::for_each(line.values.begin(), line.values.end(), add);
    if (chart.limit) add(chart.limit->first);
    if (range.empty()) range = {1, 1};
    std::vector<double> ticks;
    if (log) {
      ticks = log_ticks(range.low, range.high);
    } else {
      const double high = range.high > 0 ? range.high : 1;
      ticks = linear_ticks(0, high, 5);
      const double step = ticks[1] - ticks[0];
      if (ticks.back() < high * (1 - 1e-9)) ticks.push_back(ticks.back() + step);
    }
    return {chart.y.scale, ticks.front(), ticks.back(), ticks, bottom, top};
  }

  static double left_margin(const Ruler& y) {
    std::size_t characters = 3;
    for (const double tick : y.ticks()) characters = std::max(characters, y.text(tick).size());
    return 12 + character_width * double(characters);
  }

  static Ruler x_ruler(const Chart& chart, double left) {
    if (chart.x.scale == Scale::percentile)
      return {
          chart.x.scale, percentile_low, percentile_high, {0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999},
          left,          right - 12};
    Range range;
    for (const double position : chart.positions) range.add(position);
    if (range.empty()) range = {0, 1};
    // Half a step of room at both ends, so that the first and the last point can be pointed at.
    const std::size_t count = chart.positions.size();
    const double room = count > 1 && range.high > range.low
                            ? 0.5 * (range.high - range.low) / double(count - 1)
                            : std::max(0.5, range.high * 0.05);
    const double label = character_width * double(exact_text(std::round(range.high)).size()) + 22;
    const unsigned ticks = unsigned(std::clamp((right - left) / label, 2.0, 10.0));
    return {Scale::linear,
            range.low - room,
            range.high + room,
            linear_ticks(range.low, range.high, ticks),
            left,
            right};
  }

  std::string spoken() const {
    std::string text = chart_.title;
    const char* separator = ": ";
    for (const ChartLine& line : chart_.lines) {
      Range range;
      for (const double value : line.values)
        if (y_.shows(value)) range.add(value);
      text += separator + line.name +
              (range.empty() ? " without values"
                             : " from " + number_text(range.low) + " to " +
                                   with_unit(number_text(range.high), chart_.y.unit));
      separator = "; ";
    }
    return text;
  }

  std::string warm_up() const {
    if (!chart_.warm_up_end) return {};
    const double end = std::clamp(x_(*chart_.warm_up_end), left_, right);
    return "<rect class=\"warm-up\"" + attribute("x", left_) + attribute("y", top) +
           attribute("width", end - left_) + attribute("height", bottom - top) + " />\n";
  }

  std::string axes() const {
    std::string lines, texts;
    for (const double tick : y_.ticks()) {
      const double at = y_(tick);
      lines += "M" + coordinate(left_) + " " + coordinate(at) + "H" + coordinate(right);
      texts += "<text class=\"y\"" + attribute("x", left_ - 7) + attribute("y", at + 3.8) + ">" +
               y_.text(tick) + "</text>\n";
    }
    std::size_t number = 0;
    std::string marks;
    for (const double tick : x_.ticks()) {
      const double at = x_(tick);
      marks += "M" + coordinate(at) + " " + coordinate(bottom) + "v4";
      texts += std::string("<text class=\"x") + (number++ % 2 ? " second" : "") + "\"" +
               attribute("x", at) + attribute("y", bottom + 18) + ">" + x_.text(tick) + "</text>\n";
    }
    texts += "<text class=\"axis\"" + attribute("x", left_ - 7) + attribute("y", top - 12) +
             " text-anchor=\"start\">" + escaped(chart_.y.name) + "</text>\n";
    texts += "<text class=\"axis\"" + attribute("x", right) + attribute("y", bottom + 35) +
             " text-anchor=\"end\">" + escaped(chart_.x.name) + "</text>\n";
    return "<path class=\"grid\" d=\"" + lines + "\" />\n<path class=\"base\" d=\"M" +
           coordinate(left_) + " " + coordinate(bottom) + "H" + coordinate(right) + marks +
           "\" />\n" + texts;
  }

  std::string limit() const {
    if (!chart_.limit || !y_.shows(chart_.limit->first)) return {};
    const double at = y_(chart_.limit->first);
    return "<path class=\"limit\" d=\"M" + coordinate(left_) + " " + coordinate(at) + "H" +
           coordinate(right) + "\" />\n<text class=\"limit-name\"" + attribute("x", right - 4) +
           attribute("y", at - 5) + ">" + escaped(chart_.limit->second) + "</text>\n";
  }

  // The points of a line to draw: all, or in a long run the lowest and the highest of each stretch,
  // so that no spike is lost.
  std::vector<std::size_t> drawn(const ChartLine& line) const {
    std::vector<std::size_t> points;
    const std::size_t count = std::min(line.values.size(), chart_.positions.size());
    const std::size_t stretch =
        count <= drawn_points_max ? 1 : (2 * count + drawn_points_max - 1) / drawn_points_max;
    for (std::size_t first = 0; first < count; first += stretch) {
      const std::size_t end = std::min(count, first + stretch);
      std::size_t low = end, high = end, gap = end;
      for (std::size_t i = first; i < end; ++i) {
        if (!y_.shows(line.values[i])) {
          gap = i;
        } else {
          if (low == end || line.values[i] < line.values[low]) low = i;
          if (high == end || line.values[i] > line.values[high]) high = i;
        }
      }
      std::vector<std::size_t> kept;
      for (const std::size_t i : {low, high, gap})
        if (i != end) kept.push_back(i);
      std::sort(kept.begin(), kept.end());
      kept.erase(std::unique(kept.begin(), kept.end()), kept.end());
      points.insert(points.end(), kept.begin(), kept.end());
    }
    return points;
  }

  std::string point(const ChartLine& line, std::size_t i) const {
    return coordinate(x_(chart_.positions[i])) + " " + coordinate(y_(line.values[i]));
  }

  std::string path(const ChartLine& line) const {
    std::string d;
    bool joined = false;
    for (const std::size_t i : drawn(line)) {
      const bool shown = y_.shows(line.values[i]);
      if (shown) d += (joined ? "L" : "M") + point(line, i);
      joined = shown;
    }
    return d.empty() ? ""
                     : "<path class=\"line " + color_class(line.color) + " " +
                           look_class(line.look) + "\" d=\"" + d + "\" />\n";
  }

  // A dot for each point of a short line, and for each that stands alone between gaps: it has no
  // line to be seen by.
  std::string dots(const ChartLine& line) const {
    const std::vector<std::size_t> points = drawn(line);
    const bool all = line.look == Look::line && chart_.x.scale == Scale::linear &&
                     points.size() <= dotted_points_max;
    const auto shown = [&](std::size_t at) {
      return at < points.size() && y_.shows(line.values[points[at]]);
    };
    std::string d;
    for (std::size_t at = 0; at < points.size(); ++at)
      if (shown(at) && (all || (!shown(at - 1) && !shown(at + 1))))
        d += "M" + point(line, points[at]) + "h0";
    return d.empty()
               ? ""
               : "<path class=\"points " + color_class(line.color) + "\" d=\"" + d + "\" />\n";
  }

  std::string marks(const ChartLine& line) const {
    std::string out;
    for (std::size_t i = 0; i < line.values.size() && i < chart_.positions.size(); ++i) {
      if (!y_.shows(line.values[i])) continue;
      const double x = x_(chart_.positions[i]), y = y_(line.values[i]);
      if (line.look == Look::dots)
        out += "<circle class=\"mark " + color_class(line.color) + "\"" + attribute("cx", x) +
               attribute("cy", y) + " r=\"4.5\" />\n";
      else
        out += "<path class=\"cross " + color_class(line.color) + "\" d=\"M" + coordinate(x - 4) +
               " " + coordinate(y - 4) + "l8 8m0 -8l-8 8\" />\n";
      out += "<circle class=\"hit\"" + attribute("cx", x) + attribute("cy", y) +
             " r=\"11\"><title>" + escaped(position_text(i)) + readout(line, i) +
             "</title></circle>\n";
    }
    return out;
  }

  std::string position_text(std::size_t i) const {
    return with_unit(x_.text(chart_.positions[i]), chart_.x.unit);
  }
  std::string readout(const ChartLine& line, std::size_t i) const {
    return i < line.values.size() && std::isfinite(line.values[i])
               ? "\n" + escaped(line.name) + "  " +
                     escaped(with_unit(number_text(line.values[i]), chart_.y.unit))
               : "";
  }

  // One strip a position over the whole height, with what all lines have there. In a long run a
  // strip is several positions wide and shows the highest of each line.
  std::string readouts() const {
    const std::size_t count = chart_.positions.size();
    const bool any = std::any_of(chart_.lines.begin(), chart_.lines.end(),
                                 [](const ChartLine& line) { return is_line(line.look); });
    if (!any || count == 0) return {};
    const std::size_t stride = (count + readouts_max - 1) / readouts_max;
    const auto edge = [&](std::size_t i) {
      if (i == 0) return left_;
      return i >= count ? right : (x_(chart_.positions[i - 1]) + x_(chart_.positions[i])) / 2;
    };
    std::string out;
    for (std::size_t first = 0; first < count; first += stride) {
      const std::size_t end = std::min(count, first + stride);
      std::string title = position_text(first) +
                          (end - first > 1 ? " to " + position_text(end - 1) + ", highest" : "");
      title = escaped(title);
      for (const ChartLine& line : chart_.lines) {
        std::size_t highest = first;
        for (std::size_t i = first; i < std::min(end, line.values.size()); ++i)
          if (!std::isfinite(line.values[highest]) || line.values[i] > line.values[highest])
            highest = i;
        title += readout(line, highest);
      }
      out += "<rect class=\"hit\"" + attribute("x", edge(first)) + attribute("y", top) +
             attribute("width", std::max(0.0, edge(end) - edge(first))) +
             attribute("height", bottom - top) + "><title>" + title + "</title></rect>\n";
    }
    return out;
  }

  const Chart& chart_;
  const Ruler y_;
  const double left_;
  const Ruler x_;
};

std::string legend(const Chart& chart) {
  if (chart.lines.size() < 2 && !chart.warm_up_end) return {};
  std::string out = "<ul class=\"legend\">";
  for (const ChartLine& line : chart.lines)
    out += "<li class=\"" + color_class(line.color) + " " + look_class(line.look) + "\">" +
           escaped(line.name) + "</li>";
  if (chart.warm_up_end) out += "<li class=\"shaded\">warm-up</li>";
  return out + "</ul>\n";
}

double quantile(const Distribution& distribution, double total, double share) {
  double seen = 0;
  for (const auto& [upper_bound_us, count] : distribution.buckets) {
    seen += double(count);
    if (seen >= share * total) return upper_bound_us / 1000;
  }
  return nothing;
}

}  // namespace

std::string figure(const Chart& chart) {
  return "<figure>\n<figcaption><strong>" + escaped(chart.title) + "</strong>" +
         (chart.note.empty() ? "" : "<span>" + escaped(chart.note) + "</span>") +
         "</figcaption>\n" + legend(chart) + Drawing(chart).svg() + "</figure>\n";
}

Chart percentile_chart(std::string title, const std::vector<Distribution>& distributions) {
  Chart chart{.title = std::move(title),
              .x = {"percentile", "", Scale::percentile},
              .y = {"ms", "ms", Scale::log},
              .positions = {},
              .lines = {}};
  chart.positions.push_back(percentile_low);
  constexpr int steps_per_nine = 40, nines = 5;
  for (int step = 13; step <= nines * steps_per_nine; ++step)
    chart.positions.push_back(1 - std::pow(10, -double(step) / steps_per_nine));
  for (const Distribution& distribution : distributions) {
    double total = 0;
    for (const auto& bucket : distribution.buckets) total += double(bucket.second);
    ChartLine line{distribution.name, {}, distribution.color};
    for (const double share : chart.positions)
      line.values.push_back((1 - share) * total < 1 - 1e-6 ? nothing
                                                           : quantile(distribution, total, share));
    chart.lines.push_back(std::move(line));
  }
  return chart;
}

std::vector<double> linear_ticks(double low, double high, unsigned count) {
  if (!(high > low)) return {low};
  const double wanted = (high - low) / std::max(1u, count);
  const double power = std::pow(10, std::floor(std::log10(wanted)));
  double step = 10 * power;
  for (const double factor : {5, 2, 1})
    if (factor * power >= wanted * (1 - 1e-9)) step = factor * power;
  std::vector<double> ticks;
  const double first = std::ceil(low / step - 1e-9), last = std::floor(high / step + 1e-9);
  // Divided where it can be, since 3 * 0.1 is not 0.3.
  for (double i = 0; i <= std::min(last - first, 100.0); ++i)
    ticks.push_back(step < 1 ? (first + i) / std::round(1 / step) : (first + i) * step);
  return ticks;
}

std::vector<double> log_ticks(double low, double high) {
  const double first = std::floor(std::log10(low) + 1e-9),
               last = std::max(first + 1, std::ceil(std::log10(high) - 1e-9));
  std::vector<double> ticks;
  const auto power = [](double exponent) {
    return exponent < 0 ? 1 / std::pow(10, -exponent) : std::pow(10, exponent);
  };
  for (double exponent = first; exponent <= last; ++exponent)
    for (const double factor : {1, 2, 5})
      if (factor == 1 || (last - first <= 2 && exponent < last))
        ticks.push_back(factor * power(exponent));
  while (ticks.size() > 2 && ticks[1] <= low) ticks.erase(ticks.begin());
  while (ticks.size() > 2 && ticks[ticks.size() - 2] >= high) ticks.pop_back();
  return ticks;
}

const char* chart_style() {
  return R"(
:root { --c0: #2166ac; --c1: #d17a00; --c2: #b8293d; --c3: #2b8050; --c4: #7356a8; --c5: #80868f; --shade: rgba(100, 110, 130, .11); }
@media screen and (prefers-color-scheme: dark) {
  :root { --c0: #74acec; --c1: #f0a848; --c2: #ff7b83; --c3: #6cc492; --c4: #b79df0; --c5: #959ca8; --shade: rgba(160, 175, 200, .13); }
}
.c0 { --c: var(--c0); } .c1 { --c: var(--c1); } .c2 { --c: var(--c2); } .c3 { --c: var(--c3); } .c4 { --c: var(--c4); } .c5 { --c: var(--c5); }
figure { margin: 0; min-width: 0; break-inside: avoid; }
figcaption strong { font-weight: 600; }
figcaption span { display: block; font-size: .85em; opacity: .72; }
.chart { display: block; width: 100%; height: auto; margin-top: .35rem; overflow: visible; font-family: inherit; }
.chart text { font-size: 11px; fill: currentColor; fill-opacity: .72; font-variant-numeric: tabular-nums; }
.chart .y { text-anchor: end; }
.chart .x { text-anchor: middle; }
.chart .grid { stroke: currentColor; stroke-opacity: .11; fill: none; }
.chart .base { stroke: currentColor; stroke-opacity: .45; fill: none; }
.chart .warm-up { fill: var(--shade); }
.chart .line { fill: none; stroke: var(--c); stroke-width: 1.6; stroke-linejoin: round; stroke-linecap: round; }
.chart .line.dashed { stroke-dasharray: 5 4; stroke-linecap: butt; }
.chart .points { stroke: var(--c); stroke-width: 4.4; stroke-linecap: round; }
.chart .mark { fill: var(--c); }
.chart .cross { stroke: var(--c); stroke-width: 2.4; stroke-linecap: round; fill: none; }
.chart .limit { stroke: var(--c2); stroke-width: 1.2; stroke-dasharray: 2 3; fill: none; }
.chart .limit-name { text-anchor: end; fill: var(--c2); fill-opacity: 1; }
.chart .hit { fill: currentColor; fill-opacity: 0; pointer-events: all; }
.chart .hit:hover { fill-opacity: .09; }
.legend { display: flex; flex-wrap: wrap; gap: .1rem 1.1rem; list-style: none; margin: .25rem 0 0; padding: 0; font-size: .82em; }
.legend li::before { content: ""; display: inline-block; vertical-align: middle; width: 1.3em; margin-right: .45em; border-top: 2.5px solid var(--c); }
.legend li.dashed::before { border-top-style: dashed; }
.legend li.shaded::before { height: .8em; border: 0; background: var(--shade); print-color-adjust: exact; }
.legend li.dots::before { width: .65em; height: .65em; border: 0; border-radius: 50%; background: var(--c); print-color-adjust: exact; }
.legend li.crosses::before { content: "✕"; width: auto; border: 0; color: var(--c); font-weight: 700; }
@media (max-width: 560px) {
  .chart text { font-size: 16px; }
  .chart .x.second { display: none; }
}
@media print { .chart text { font-size: 14px; } }
)";
}

}  // namespace exchange::loadgen
