#pragma once
// Leaderboard counts what accounts gain by trading, per round and in total (docs/protocol.md, G1 to
// G4). It depends only on the executions and rounds, in their order, so that a server, which reads
// them from its tables, and an audit, which replays the journal, get the same result. Executions
// before the first round do not count, and an account cannot gain from trades with itself. Holdings
// count at the mark of their symbol: the mean of the prices at the end of each of the last 60 s up
// to its newest execution, so that one late execution moves it by a sixtieth.
// Owner: MarketView, or an audit. Thread: that of its owner.

#include <array>
#include <deque>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/rows.hpp"

namespace exchange {

class Leaderboard {
 public:
  struct Trade {
    ExecutionId id;
    SymbolNumber symbol;
    AccountNumber buyer, seller;
    Shares shares;
    Price price;
    Timestamp time;
    bool operator==(const Trade&) const = default;
  };
  struct Standing {
    std::uint64_t rank;  // from 1; equal profits have the same rank
    AccountNumber account;
    Cash profit;  // below 0: a loss
    Shares volume;
    std::uint64_t trades = 0;
    Shares largest_position;  // long or short, in one symbol, by these executions
    bool operator==(const Standing&) const = default;
  };
  // The results of the newest finished rounds are kept, at most this number.
  static constexpr std::size_t rounds_kept_max = 100;

  // A round begins after its executions_before. It may be added before or after later executions.
  void add(const RoundRow& round);
  // Ids must rise; an id that was added before is ignored.
  void add(const Trade& trade);
  // Call it once everything up to this point was added.
  void update();
  // Adds the rows of a hand-over. They include the orders of its executions, because these changed
  // the orders. each(rows, visit) must visit all rows.
  template <class Each>
  void add(const Rows& rows, Each each) {
    for (const RoundRow& row : rows.rounds) add(row);
    if (rounds_.empty()) return;
    std::unordered_map<OrderId, AccountNumber> owners;
    each(rows.orders, [&](const OrderRow& row) { owners[row.id] = row.account; });
    each(rows.executions, [&](const ExecutionRow& row) {
      add({row.id, row.symbol, owners.at(row.buy_order), owners.at(row.sell_order), row.shares,
           row.price, row.time});
    });
    update();
  }

  const std::vector<RoundRow>& rounds() const { return rounds_; }
  // Returns true if the round is the newest or a kept one; 0 stands for the total.
  bool has(std::uint64_t round) const {
    return round <= begun_ && (round == 0 || round + finished_.size() >= begun_);
  }
  // Returns the standings of a round, which must be the newest or a kept one, or, with 0, the
  // total; null if there is no such round. The highest profit comes first, then the lower account
  // number. It includes accounts that traded in the round, or hold something from before.
  std::optional<std::vector<Standing>> standings(std::uint64_t round) const;

 private:
  struct Counts {
    Int128 profit_units = 0;  // without the holdings
    UInt128 volume_units = 0, largest_units = 0;
    std::uint64_t trades = 0;
  };
  struct Account {
    Counts all, round;
    Int128 profit_before_units = 0;  // before the round; holdings at the prices of that time
  };
  // The mark of a symbol, from its executions. Those of an account with itself do not count.
  class Mark {
   public:
    void add(Price price, Timestamp time);
    Price price() const;  // in units, rounded down

   private:
    static constexpr std::int64_t seconds_max = 60;
    std::array<Price, seconds_max> at_end_;  // of a second, at its number modulo seconds_max
    std::int64_t newest_ = 0, seconds_ = 0;  // the newest second, and how many up to it count
  };
  void begin_round();
  void count(Account& account, SymbolNumber symbol, AccountNumber number, Int128 shares,
             Price price);
  // Returns the value of each account's holdings at the marks.
  std::unordered_map<AccountNumber, Int128> held() const;
  std::vector<Standing> standings_of(Counts Account::*counts) const;

  std::vector<RoundRow> rounds_;
  std::size_t begun_ = 0;  // number of rounds in rounds_ that have begun
  ExecutionId newest_ = 0;
  std::unordered_map<AccountNumber, Account> accounts_;
  std::unordered_map<std::uint64_t, Int128> positions_;  // by account and symbol: bought less sold
  std::unordered_map<SymbolNumber, Mark> marks_;
  std::deque<std::vector<Standing>> finished_;  // the newest last
};

// The parts of an account that a leaderboard shows: only the name, if it has one, because the id
// would reveal the account's owner; the name and the id if ids are wanted.
struct ShownAccount {
  std::string_view id, name;  // empty: not shown
  ShownAccount(std::string_view id_, std::string_view name_, bool with_ids)
      : id(with_ids || name_.empty() ? id_ : std::string_view()), name(name_) {}
};

// Returns a CSV field, in quotes if it has a comma or a quote (RFC 4180). Spreadsheets interpret a
// cell that begins with one of = + - @ as a formula, so this puts an apostrophe before it.
inline std::string csv_field(std::string_view text) {
  const std::string guard = text.find_first_of("=+-@") == 0 ? "'" : "";
  if (text.find_first_of(",\"") == std::string_view::npos) return guard + std::string(text);
  std::string quoted = "\"" + guard;
  for (const char c : text) quoted.append(c == '"' ? 2 : 1, c);
  return quoted + '"';
}

// Writes one line for each standing, after a line with the names of the columns. shown_of(number)
// returns a ShownAccount.
template <class ShownOf>
std::string standings_csv(const std::vector<Leaderboard::Standing>& standings, ShownOf shown_of) {
  std::string text = "rank,account,name,profit,volume,trades,largest_position\n";
  for (const Leaderboard::Standing& one : standings) {
    const ShownAccount shown = shown_of(one.account);
    text += std::to_string(one.rank) + ',' + std::string(shown.id) + ',' + csv_field(shown.name) +
            ',' + to_string(one.profit) + ',' + to_string(one.volume) + ',' +
            std::to_string(one.trades) + ',' + to_string(one.largest_position) + '\n';
  }
  return text;
}

}  // namespace exchange
