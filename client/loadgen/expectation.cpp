#include "client/loadgen/expectation.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string_view>

#include "client/connection/command_line.hpp"
#include "client/loadgen/options.hpp"

namespace exchange::loadgen {
namespace {

enum class Dimension { latency, share, rate };
Dimension dimension_of(Measure measure) {
  switch (measure) {
    case Measure::errors:
    case Measure::rejected: return Dimension::share;
    case Measure::rate: return Dimension::rate;
    default: return Dimension::latency;
  }
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

[[noreturn]] void invalid(std::string_view text, const std::string& wanted) {
  throw std::invalid_argument("'" + std::string(text) + "' " + wanted);
}

double parse_share(std::string_view text) {
  std::string_view unit;
  const double value = client::leading_number(text, unit);
  const double share = unit == "%" ? value / 100 : value;
  if ((unit != "%" && !unit.empty()) || share > 1)
    invalid(text, "is not a share of all requests such as 0.1%");
  return share;
}

double parse_rate(std::string_view text) {
  std::string_view unit;
  const double value = client::leading_number(text, unit);
  if (!unit.empty() && unit != "/s") invalid(text, "is not a number of requests per second");
  return value;
}

Expectation parse_one(std::string_view text) {
  const std::size_t sign = text.find_first_of("<>");
  if (sign == std::string_view::npos) invalid(text, "is not a condition such as p99<20ms");
  Expectation expectation;
  expectation.text = text;
  expectation.below = text[sign] == '<';
  expectation.or_equal = text.substr(sign + 1).starts_with("=");
  const std::string_view name = trimmed(text.substr(0, sign)),
                         bound = trimmed(text.substr(sign + (expectation.or_equal ? 2 : 1)));
  bool known = false;
  std::string names;
  for (std::size_t i = 0; i < enumerators<Measure>; ++i) {
    const std::string one = name_with('.', Measure(i));
    if (one == name) {
      expectation.measure = Measure(i);
      known = true;
    }
    names += (names.empty() ? "" : ", ") + one;
  }
  if (!known) invalid(name, "is not something measured: " + names);
  switch (dimension_of(expectation.measure)) {
    case Dimension::latency: expectation.bound = client::parse_seconds(bound) * 1e3; break;
    case Dimension::share: expectation.bound = parse_share(bound); break;
    case Dimension::rate: expectation.bound = parse_rate(bound); break;
  }
  return expectation;
}

}  // namespace

bool Expectation::met(double measured) const {
  if (!std::isfinite(measured)) return false;
  if (measured == bound) return or_equal;
  return below == (measured < bound);
}

const char* Expectation::unit() const {
  switch (dimension_of(measure)) {
    case Dimension::latency: return "ms";
    case Dimension::share: return "share";
    case Dimension::rate: return "requests/s";
  }
  return "";
}

std::vector<Expectation> parse_expectations(const std::string& text) {
  std::vector<Expectation> expectations;
  for (std::string_view rest = text;;) {
    const std::size_t comma = rest.find(',');
    expectations.push_back(parse_one(trimmed(rest.substr(0, comma))));
    if (comma == std::string_view::npos) return expectations;
    rest.remove_prefix(comma + 1);
  }
}

std::string Capacity::client_bottleneck() const {
  const CapacityTry* lowest = nullptr;
  for (const CapacityTry& one : tries)
    if (!one.held && (lowest == nullptr || one.planned_per_s < lowest->planned_per_s))
      lowest = &one;
  return lowest == nullptr ? "" : lowest->client_bottleneck;
}

void find_capacity(double guess, const std::function<CapacityTry(double)>& attempt,
                   Capacity& capacity) {
  constexpr unsigned failures_before_lowest = 3;
  const auto holds = [&](double rate) {
    capacity.tries.push_back(attempt(rate));
    return capacity.tries.back().held;
  };
  double held = 0, failed = 0;
  unsigned failures = 0;
  for (double rate = std::clamp(guess, capacity_lowest_per_s, capacity_highest_per_s);
       held == 0 || failed == 0;) {
    if (holds(rate)) {
      held = rate;
      if (rate >= capacity_highest_per_s) break;
      rate = std::min(rate * 2, capacity_highest_per_s);
    } else {
      failed = rate;
      if (rate <= capacity_lowest_per_s) return;
      rate = std::max(rate / 2, capacity_lowest_per_s);
      if (++failures < failures_before_lowest) continue;
      // Perhaps the server holds no rate: the lowest one shows it without a dozen tries in between.
      // NOLINTNEXTLINE(misc-redundant-expression): each call measures
      if (!holds(capacity_lowest_per_s) && !holds(capacity_lowest_per_s)) return;
      held = capacity_lowest_per_s;
    }
  }
  while (failed > held * capacity_precision) {
    const double middle = std::sqrt(held * failed);
    (holds(middle) ? held : failed) = middle;
  }
  // One success may have been luck: the reported rate held twice.
  while (!holds(held)) {
    held /= capacity_precision;
    if (held < capacity_lowest_per_s) return;
  }
  capacity.requests_per_s = held;
}

}  // namespace exchange::loadgen
