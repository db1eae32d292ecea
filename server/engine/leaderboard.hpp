#pragma once
// Leaderboard counts what accounts gain by trading, in rounds and in all (docs/protocol.md, G1 to
// G4). It is a function of the executions and rounds alone, in their order, so that a server, which
// reads them from its tables, and an audit, which replays the journal, come to the same. Executions
// from before the first round do not count, and an account gains nothing from itself. What is held
// counts at the mark of its symbol: the mean of the prices at the end of each of the last 60 s up
// to its newest execution, so that one late execution moves it by a sixtieth.
// Owner: MarketView, or an audit. Thread: its.

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
    std::uint64_t rank;  // from 1; equal profits have the same
    AccountNumber account;
    Cash profit;  // below 0: a loss
    Shares volume;
    std::uint64_t trades = 0;
    Shares largest_position;  // long or short, of one symbol, by these executions
    bool operator==(const Standing&) const = default;
  };
  // The results of the newest rounds that are over are kept, at most this number.
  static constexpr std::size_t rounds_kept_max = 100;

  // A round begins behind its executions_before; it may come before or after later executions.
  void add(const RoundRow& round);
  // Ids rise; one that came before does nothing.
  void add(const Trade& trade);
  // Everything that has come up to here was added.
  void update();
  // What a hand-over has: the orders of its executions, which these changed, are among its rows.
  // each(rows, visit) visits them all.
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
  // Whether there is a round of this number, the newest or one that is kept; 0 stands for all.
  bool has(std::uint64_t round) const {
    return round <= begun_ && (round == 0 || round + finished_.size() >= begun_);
  }
  // Of the round with this number, the newest or one that is kept, or, with 0, of all; null if
  // there is no such round. The highest profit first, then by number of account; of those that
  // traded in it, or hold something from before.
  std::optional<std::vector<Standing>> standings(std::uint64_t round) const;

 private:
  struct Counts {
    Int128 profit_units = 0;  // but for what is held
    UInt128 volume_units = 0, largest_units = 0;
    std::uint64_t trades = 0;
  };
  struct Account {
    Counts all, round;
    Int128 profit_before_units = 0;  // before the round, with what was held at the prices of then
  };
  // Of the executions of a symbol that are not of one account alone.
  class Mark {
   public:
    void add(Price price, Timestamp time);
    Price price() const;  // of units, rounded down

   private:
    static constexpr std::int64_t seconds_max = 60;
    std::array<Price, seconds_max> at_end_;  // of a second, by its number modulo seconds_max
    std::int64_t newest_ = 0, seconds_ = 0;  // the newest second, and how many up to it count
  };
  void begin_round();
  void count(Account& account, SymbolNumber symbol, AccountNumber number, Int128 shares,
             Price price);
  // What each account holds, at the marks.
  std::unordered_map<AccountNumber, Int128> held() const;
  std::vector<Standing> standings_of(Counts Account::*counts) const;

  std::vector<RoundRow> rounds_;
  std::size_t begun_ = 0;  // of rounds_
  ExecutionId newest_ = 0;
  std::unordered_map<AccountNumber, Account> accounts_;
  std::unordered_map<std::uint64_t, Int128> positions_;  // by account and symbol: bought less sold
  std::unordered_map<SymbolNumber, Mark> marks_;
  std::deque<std::vector<Standing>> finished_;  // the newest last
};

// What a leaderboard shows of an account: the name alone, if it has one, because its id would tell
// whose it is; with the id only where ids are wanted.
struct ShownAccount {
  std::string_view id, name;  // empty: not shown
  ShownAccount(std::string_view id_, std::string_view name_, bool with_ids)
      : id(with_ids || name_.empty() ? id_ : std::string_view()), name(name_) {}
};

// In quotes, if it has a comma or a quote (RFC 4180). Spreadsheets take a cell that begins with one
// of = + - @ for a formula, so an apostrophe comes before it.
inline std::string csv_field(std::string_view text) {
  const std::string guard = text.find_first_of("=+-@") == 0 ? "'" : "";
  if (text.find_first_of(",\"") == std::string_view::npos) return guard + std::string(text);
  std::string quoted = "\"" + guard;
  for (const char c : text) quoted.append(c == '"' ? 2 : 1, c);
  return quoted + '"';
}

// A line for each, below one with the names of the columns. shown_of(number): a ShownAccount.
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
