#pragma once
// What of a timetable is due. Functions of their arguments and of the time zone of the process (TZ,
// or that of the machine). Any thread.
// A step happens once on each day of the timetable. At the beginning of summer time, a time that
// the clock skips is as much later; at its end, of a time that the clock shows twice, the first
// counts.

#include <limits>
#include <span>
#include <vector>

#include "timetable/timetable.hpp"

namespace exchange {

struct SymbolState {
  SymbolName name;
  Trading trading = Trading::open;
  Timestamp since = {};  // `trading` changed; 0: never
  bool operator==(const SymbolState&) const = default;
};

struct DueChange {
  SymbolNumber symbol;
  SymbolName name;
  const TimetableStep* step;  // of the timetable; null: the end of a volatility auction
  Timestamp at;               // it was due
  std::vector<Trading> trading() const {
    return trading_of(step == nullptr ? StepKind::open : step->kind);
  }
};

struct Due {
  std::vector<DueChange> changes;
  // There will be more if no symbol changes; later than `now`.
  Timestamp next{std::numeric_limits<std::int64_t>::max()};
};
// For each symbol, its newest step up to `now`, however long ago, if its trading has not changed
// since, and is not as the step makes it. Symbols are indexed by number.
Due due(const Timetable& timetable, std::span<const SymbolState> symbols, Timestamp now);

}  // namespace exchange
