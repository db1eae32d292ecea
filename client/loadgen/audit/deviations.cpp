#include "client/loadgen/audit/deviations.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/text.hpp"

namespace exchange::run_audit {
namespace {

// 2001: an earlier value is not an exchange's time in seconds since 1970
constexpr std::int64_t time_min = 1'000'000'000,
                       time_max = std::numeric_limits<std::uint32_t>::max();
constexpr std::size_t example_bytes_max = 100;

struct Description {
  const char *what, *rule;
};
constexpr std::array<Description, deviation_kinds> descriptions{
    {{"numbers with a sign, a currency, blanks, an exponent or too many decimals", "R10, R11"},
     {"times that are not in whole seconds since 1970", "R12"},
     {"order states with another order of elements, or elements for 0 shares", "T9"},
     {"attributes repeated in other words", "R8"},
     {"attributes that are not repeated", "R8, T14, T19"},
     {"transaction ids that are not integers from 1", "T18"},
     {"transaction ids that do not rise in the order of arrival", "T18"},
     {"replies whose root is not <results>", "R1"},
     {"replies with values without quotes", "R1"},
     {"orders of one account were not matched with each other", "M11"}}};

bool is_plain(Timestamp time) { return time.seconds() >= time_min && time.seconds() <= time_max; }

bool is_earlier(const Execution& a, const Execution& b) { return a.time < b.time; }

// True if the state does not differ from the protocol.
bool is_plain(const Status& status) {
  return (status.canceled == Shares() || is_plain(status.canceled_at)) &&
         std::all_of(status.executions.begin(), status.executions.end(),
                     [](const Execution& execution) { return is_plain(execution.time); }) &&
         std::is_sorted(status.executions.begin(), status.executions.end(), is_earlier);
}

// Reads a number that is not negative.
template <class Number>
bool read_number(const client::ReplyElement& part, const char* name, Number& number,
                 Deviations& deviations) {
  const std::string_view text = part.attribute(name);
  if (const Parsed<Shares> plain = parse_shares(text); plain && plain.value >= Shares()) {
    number = Number::from_units(plain.value.units());
    return true;
  }
  const std::optional<std::int64_t> units = lenient_units(text);
  if (!units || (*units < 0 && part.name == "executed" && name == std::string_view("price")))
    return false;
  number = Number::from_units(std::abs(*units));
  deviations.add(Deviation::number, text);
  return true;
}

// Converts milliseconds, or other small units, to seconds.
Timestamp read_time(const client::ReplyElement& part, Deviations& deviations) {
  constexpr std::int64_t us_per_s = 1'000'000;
  const std::string_view text = part.attribute("time");
  std::int64_t time = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), time);
  const std::string_view rest(end, std::size_t(text.data() + text.size() - end));
  if (!rest.empty() && !rest.starts_with('.')) time = 0;  // such as a date
  if (error != std::errc() || !rest.empty() || time < time_min || time > time_max)
    deviations.add(Deviation::time, text);
  while (time > 20 * time_max) time /= 1'000;
  return {time < 0 || time > time_max ? 0 : time * us_per_s};
}

// Reads a number as languages print a double: 1.0E7, 99.420000000000002.
std::optional<std::int64_t> rounded_units(std::string_view text) {
  constexpr long double scale = 1e8L, shares_end = 92'233'720'368.0L;
  if (text.empty() || !(text.front() == '.' || is_digit(text.front()))) return std::nullopt;
  long double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number >= shares_end)
    return std::nullopt;
  return std::llround(number * scale);
}

}  // namespace

void Deviations::add(const Deviations& other) {
  for (std::size_t i = 0; i < found_.size(); ++i) {
    if (found_[i].count == 0) found_[i].example = other.found_[i].example;
    found_[i].count += other.found_[i].count;
  }
}

std::vector<std::string> Deviations::sentences() const {
  std::vector<std::string> all;
  for (std::size_t i = 0; i < found_.size(); ++i)
    if (const Found& found = found_[i]; found.count > 0)
      all.push_back(found.example.empty()
                        ? std::string(descriptions[i].what) + " (" + descriptions[i].rule + ")"
                        : std::to_string(found.count) + " " + descriptions[i].what + " (" +
                              descriptions[i].rule +
                              "), such as: " + found.example.substr(0, example_bytes_max));
  return all;
}

std::optional<std::int64_t> lenient_units(std::string_view text) {
  const auto is_ornament = [](char c) { return client::is_blank(c) || c == '$' || c == '+'; };
  bool negative = false;
  while (!text.empty() && (is_ornament(text.front()) || (text.front() == '-' && !negative))) {
    negative |= text.front() == '-';
    text.remove_prefix(1);
  }
  while (!text.empty() && is_ornament(text.back())) text.remove_suffix(1);
  std::int64_t units = 0;
  if (const Parsed<Shares> parsed = parse_shares(text); parsed && parsed.value >= Shares())
    units = parsed.value.units();
  else if (const std::optional<std::int64_t> rounded = rounded_units(text))
    units = *rounded;
  else
    return std::nullopt;
  return negative ? -units : units;
}

std::string_view read_state(const client::ReplyElement& element, Status& status,
                            Deviations& deviations) {
  const std::string_view problem = client::read_status(element, status);
  if (problem.empty() && is_plain(status)) return problem;

  status.open = status.canceled = Shares();
  status.executions.clear();
  client::ReplyElements parts = client::ReplyElements::within(element);
  client::ReplyElement part;
  bool in_order = true;
  for (bool first = true; parts.next(part); first = false) {
    Shares shares;
    if (!read_number(part, "shares", shares, deviations)) return problem;
    if (shares == Shares()) {
      in_order = false;
      continue;
    }
    if (part.name == "executed") {
      Execution execution{.shares = shares, .time = read_time(part, deviations)};
      if (!read_number(part, "price", execution.price, deviations) || execution.price == Price())
        return problem;
      status.executions.push_back(execution);
      continue;
    }
    in_order &= first;
    if (status.open > Shares() || status.canceled > Shares()) return problem;
    if (part.name == "open") {
      status.open = shares;
    } else if (part.name == "canceled") {
      status.canceled = shares;
      status.canceled_at = read_time(part, deviations);
    } else {
      return problem;
    }
  }
  if (!parts.complete()) return problem;
  in_order &= std::is_sorted(status.executions.begin(), status.executions.end(), is_earlier);
  std::stable_sort(status.executions.begin(), status.executions.end(), is_earlier);
  if (!in_order) deviations.add(Deviation::order, element.content);
  return "";
}

}  // namespace exchange::run_audit
