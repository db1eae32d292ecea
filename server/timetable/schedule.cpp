#include "timetable/schedule.hpp"

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <map>
#include <regex>
#include <stdexcept>
#include <string>
#include <string_view>

namespace exchange {
namespace {

constexpr std::int64_t second_us = 1'000'000;

std::tm local_time(std::int64_t seconds) {
  const std::time_t time = seconds;
  std::tm local{};
  ::localtime_r(&time, &local);
  return local;
}

// Returns when a clock shows `time` on the local day that is `days_after` days after `day`. Uses
// only offsets from UTC, because zones differ in which of two offsets is "summer time"
// (Europe/Dublin, Africa/Casablanca).
Timestamp instant(const std::tm& day, int days_after, std::chrono::seconds time) {
  constexpr std::int64_t day_s = 86'400;
  std::tm shown{};
  shown.tm_year = day.tm_year;
  shown.tm_mon = day.tm_mon;
  shown.tm_mday = day.tm_mday + days_after;
  const std::int64_t as_utc = ::timegm(&shown) + time.count();
  const std::int64_t before = local_time(as_utc - day_s).tm_gmtoff,
                     after = local_time(as_utc + day_s).tm_gmtoff;
  const std::int64_t first = as_utc - std::max(before, after),
                     second = as_utc - std::min(before, after);
  const auto shows_it = [&](std::int64_t at) { return at + local_time(at).tm_gmtoff == as_utc; };
  const std::int64_t at = shows_it(first)    ? first
                          : shows_it(second) ? second
                                             : as_utc - before;  // skipped: as much later
  return {at * second_us};
}

struct Instants {
  Timestamp newest, next;  // the last one up to now, the first one later
};
Instants instants_of(const TimetableStep& step, std::uint8_t days, const std::tm& today,
                     Timestamp now) {
  const auto first = [&](int days_after, int direction, auto fits) {
    for (;; days_after += direction) {
      if ((days >> (today.tm_wday + days_after + 7 * 7) % 7 & 1) == 0) continue;
      if (const Timestamp at = instant(today, days_after, step.time); fits(at)) return at;
    }
  };
  return {first(0, -1, [&](Timestamp at) { return at <= now; }),
          first(0, 1, [&](Timestamp at) { return at > now; })};
}

// Times of steps. They are ordered by time, then by place in the timetable.
struct Newest {
  Timestamp at{std::numeric_limits<std::int64_t>::min()};
  const TimetableStep* step = nullptr;
  auto operator<=>(const Newest&) const = default;
};

// Returns true for a name in the time zone database, or a path to a file of its format (man 3
// tzset, tzfile(5)).
bool is_file_of_zone(const std::string& name) {
  const char* const folder = std::getenv("TZDIR");
  const std::string path =
      name.starts_with('/') ? name
                            : (folder != nullptr ? folder : "/usr/share/zoneinfo") + ("/" + name);
  std::string magic(4, '\0');
  return std::ifstream(path, std::ios::binary).read(magic.data(), 4) && magic == "TZif";
}

// Returns true for a rule in POSIX's form, such as CET-1CEST,M3.5.0,M10.5.0/3.
bool is_rule(const std::string& text) {
  static const std::string name = "([A-Za-z]{3,}|<[A-Za-z0-9+-]{3,}>)",
                           time = "[0-9]{1,3}(:[0-5]?[0-9]){0,2}",
                           day = "(J[0-9]{1,3}|[0-9]{1,3}|M[0-9]{1,2}\\.[1-5]\\.[0-6])",
                           change = day + "(/[+-]?" + time + ")?";
  static const std::regex rule(name + "[+-]?" + time + "(" + name + "([+-]?" + time + ")?(," +
                               change + "," + change + ")?)?");
  return std::regex_match(text, rule);
}

}  // namespace

void require_time_zone() {
  const char* const set = std::getenv("TZ");
  if (set == nullptr) return;
  std::string zone = set;
  if (zone.starts_with(':')) zone.erase(0, 1);
  if (zone.empty() || zone == "UTC" || zone == "GMT") return;  // known without a database
  if (is_file_of_zone(zone) || is_rule(zone)) return;
  throw std::invalid_argument("TZ='" + std::string(set) +
                              "' names no time zone of this machine, and --timetable depends on "
                              "it: use a name as Europe/Zurich, with no blanks or quotes (Debian: "
                              "package tzdata), or unset it for the zone of the machine");
}

Due due(const Timetable& timetable, std::span<const SymbolState> symbols, Timestamp now) {
  ::tzset();  // localtime_r need not do this
  const std::tm today = local_time(now.seconds());

  Due due;
  Newest of_all;
  std::map<std::string_view, Newest> of_named;
  for (const TimetableStep& step : timetable.steps) {
    const Instants instants = instants_of(step, timetable.days, today, now);
    due.next = std::min(due.next, instants.next);
    const Newest newest{instants.newest, &step};
    if (step.symbols.empty()) of_all = std::max(of_all, newest);
    for (const SymbolName& name : step.symbols) {
      Newest& of_one = of_named[name.view()];
      of_one = std::max(of_one, newest);
    }
  }

  for (SymbolNumber number = 0; number < symbols.size(); ++number) {
    const SymbolState& symbol = symbols[number];
    Newest newest = of_all;
    if (const auto named = of_named.find(symbol.name.view()); named != of_named.end())
      newest = std::max(newest, named->second);
    if (newest.step != nullptr && symbol.since < newest.at) {
      const StepKind kind = newest.step->kind;
      if (kind == StepKind::uncross || symbol.trading != trading_of(kind).back())
        due.changes.push_back({number, symbol.name, newest.step, newest.at});
    } else if (symbol.trading == Trading::volatility && timetable.volatility) {
      const Timestamp end{symbol.since.microseconds + timetable.volatility->count() * second_us};
      if (end <= now)
        due.changes.push_back({number, symbol.name, nullptr, end});
      else
        due.next = std::min(due.next, end);
    }
  }
  return due;
}

}  // namespace exchange
