#pragma once
// DaySummary has the counts of a replay of the whole day: at which times each symbol traded, and
// how its trading state changed. Pure.

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "days/day_replay.hpp"

namespace exchange {

struct DaySummary {
  static constexpr std::size_t bins = 240;  // of equal time, from the first command to the last
  static constexpr std::size_t marks_max = 1'000;  // of a symbol; later ones are left out

  struct Mark {  // a change of the trading state
    std::uint64_t position;
    Timestamp time;
    Trading trading;
  };
  struct Symbol {
    SymbolName name;
    std::uint64_t trades = 0;
    std::vector<std::uint64_t> trades_of_bin;  // up to the last bin that has any
    std::vector<Mark> marks;
  };

  std::uint64_t commands = 0;
  Timestamp first_time, last_time;
  std::vector<Symbol> symbols;                       // by number
  std::map<std::string, KeyHash, std::less<>> keys;  // of accounts with a key at the day's end

  const Symbol* find(const SymbolName& name) const;
  std::size_t bin_of(Timestamp time) const;
};

// Runs `replay` from the beginning to the end. Calls `go_on` now and then, which may throw.
DaySummary summarize(DayReplay& replay, const DayFacts& facts, const std::function<void()>& go_on);

}  // namespace exchange
