#pragma once
// DayReplay executes the commands of a closed day again, one after the other, in its own exchange,
// and keeps a market view of it. A position in the day is the number of the command that was
// executed last, from 1; 0 is the beginning. A replay only moves forward; for an earlier position,
// make a new one. After each batch it compares the counters and the digest with those of the
// journal record.
// Memory: that of an exchange with the same open orders, and of its view.
// Owner: DayDesk. Thread: one.

#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "days/limits.hpp"
#include "engine/exchange.hpp"
#include "journal/journal_reader.hpp"
#include "journal/journal_record.hpp"
#include "market_data/market_view.hpp"

namespace exchange {

// Thrown if this day cannot be replayed.
struct CannotReplay : std::runtime_error {
  using runtime_error::runtime_error;
};

// After this many commands the caller of a replay calls its `go_on`, which may end the replay.
inline constexpr std::uint64_t commands_between_calls = 1'024;

class DayReplay {
 public:
  // `journal` must outlive it.
  DayReplay(JournalReader& journal, const ReplayLimits& limits);

  std::uint64_t position() const { return position_; }
  Timestamp time() const { return time_; }  // of the command there; 0 at the beginning
  // Returns the time of the next command; nothing at the end of the day. Throws StoreCorrupt, which
  // names the batch, CannotReplay, and the exceptions of the journal.
  std::optional<Timestamp> next_time();
  // Requires: a next command. Executes it. Throws the same exceptions.
  const Command& advance();

  // Returns all changes since the last call; valid until the next call or advance(). Taking the
  // changes of many commands together costs as much as those of one.
  struct Changes {
    const Rows& rows;
    const std::vector<MarketView::Change>& symbols;
  };
  Changes take_changes();
  // The state as of the last take_changes().
  const MarketView& view() const { return view_; }

 private:
  bool read_batch();
  void check_batch() const;

  JournalReader& journal_;
  const ReplayLimits limits_;
  Exchange exchange_;
  MarketView view_;
  std::vector<JournalRow> read_;  // read ahead
  std::size_t row_ = 0;           // index of the next row
  BatchNumber batch_ = 0;
  JournalRecord record_{};   // of that batch
  std::size_t command_ = 0;  // index of its next command
  std::uint64_t position_ = 0;
  Timestamp time_;
  Rows rows_;
};

// The first and the last time of a day, if it has any command, and the reason if it cannot be
// replayed, for example because its journal is not complete.
struct DayFacts {
  std::optional<Timestamp> first_time, last_time;
  std::string problem;  // empty: none
};
// Reads two rows. Throws StoreCorrupt and the exceptions of the journal.
DayFacts look_at(JournalReader& journal);

// Has the counts of a replay of the whole day: at which times each symbol traded, and how its
// trading state changed.
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
