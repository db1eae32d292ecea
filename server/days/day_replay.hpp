#pragma once
// DayReplay executes the commands of a closed day again, one after the other, in an exchange of its
// own, and keeps a market view of it. A place in the day is a position: the number of the command
// that was executed last, from 1; 0 is the beginning. It goes forward only: for what was before,
// make a new one. After each batch the counters and the digest are compared with those of its
// record.
// Memory: that of an exchange with the same open orders, and of its view.
// Owner: DayDesk. Thread: one.

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

// After so many commands a replay lets others use the thread.
inline constexpr std::uint64_t commands_between_calls = 1'024;

class DayReplay {
 public:
  // Both outlive it.
  DayReplay(JournalReader& journal, const ReplayLimits& limits);

  std::uint64_t position() const { return position_; }
  Timestamp time() const { return time_; }  // of the command there; 0 at the beginning
  // The time of the next command; nothing at the end of the day. Throws StoreCorrupt, which names
  // the batch, CannotReplay, and what the journal throws.
  std::optional<Timestamp> next_time();
  // Requires: a next command. Executes it. Throws likewise.
  const Command& advance();

  // All that has changed since the last call; valid until the next call or advance(). Many commands
  // may come together, at the cost of one.
  struct Changes {
    const Rows& rows;
    const std::vector<MarketView::Change>& symbols;
  };
  Changes take_changes();
  // As of take_changes().
  const MarketView& view() const { return view_; }

 private:
  bool read_batch();
  void check_batch() const;

  JournalReader& journal_;
  const ReplayLimits limits_;
  Exchange exchange_;
  MarketView view_;
  std::vector<JournalRow> read_;  // ahead
  std::size_t row_ = 0;           // the next of them
  BatchNumber batch_ = 0;
  JournalRecord record_{};   // of that batch
  std::size_t command_ = 0;  // the next of it
  std::uint64_t position_ = 0;
  Timestamp time_;
  Rows rows_;
};

// The first and the last time of a day, if anything happened, and why it cannot be replayed: its
// journal is not whole, say. Reads two rows. Throws what the journal throws.
struct DayFacts {
  std::optional<Timestamp> first_time, last_time;
  std::string problem;  // empty: none
};
DayFacts look_at(JournalReader& journal);

}  // namespace exchange
