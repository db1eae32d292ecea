#pragma once
// Finds which changes of a timetable are due. The functions depend on their arguments and on the
// time zone of the process (TZ, or that of the machine). Any thread.
// A step happens once on each day of the timetable. At the beginning of summer time the clock skips
// some times; a step at such a time happens later by the skipped span. At its end the clock shows
// some times twice; the first one counts.

#include <limits>
#include <span>
#include <vector>

#include "timetable/timetable.hpp"

namespace exchange {

// Throws std::invalid_argument if TZ does not name a time zone: the C library would then silently
// use UTC. Call it before other threads start.
void require_time_zone();

struct SymbolState {
  SymbolName name;
  Trading trading = Trading::open;
  Timestamp since = {};  // when `trading` changed; 0: never
  bool operator==(const SymbolState&) const = default;
};

struct DueChange {
  SymbolNumber symbol;
  SymbolName name;
  const TimetableStep* step;  // in the timetable; null: the end of a volatility auction
  Timestamp at;               // when it was due
  std::vector<Trading> trading() const {
    return trading_of(step == nullptr ? StepKind::open : step->kind);
  }
};

struct Due {
  std::vector<DueChange> changes;
  // When the next change will be due if no symbol changes; later than `now`.
  Timestamp next{std::numeric_limits<std::int64_t>::max()};
};
// Returns a change for each symbol whose trading differs from what its newest step up to `now`,
// however long ago, makes it, and for each whose newest step is an uncross, unless its trading has
// changed since that step. Also ends volatility auctions that have lasted long enough. Symbols are
// indexed by number.
Due due(const Timetable& timetable, std::span<const SymbolState> symbols, Timestamp now);

}  // namespace exchange
