#include "timetable/schedule.hpp"

#include <algorithm>
#include <ctime>
#include <map>
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

}  // namespace

Due due(const Timetable& timetable, std::span<const SymbolState> symbols, Timestamp now) {
  const std::time_t seconds = now.seconds();
  std::tm today{};
  ::tzset();  // localtime_r need not do this
  ::localtime_r(&seconds, &today);

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
