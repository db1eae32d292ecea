#include "engine/leaderboard.hpp"

#include <algorithm>
#include <limits>

#include "base/ensure.hpp"

namespace exchange {

namespace {

// Saturates: a sum that overflows becomes the largest number of its sign.
Int128 sum(Int128 a, Int128 b) {
  Int128 result;
  return __builtin_add_overflow(a, b, &result) ? (a < 0 ? -int128_max : int128_max) : result;
}
UInt128 absolute(Int128 from_zero) { return UInt128(from_zero < 0 ? -from_zero : from_zero); }

}  // namespace

void Leaderboard::Mark::add(Price price, Timestamp time) {
  const std::int64_t second = seconds_ == 0 ? time.seconds() : std::max(newest_, time.seconds());
  const auto slot = [&](std::int64_t of) -> Price& {
    return at_end_[std::size_t(of % seconds_max)];
  };
  if (seconds_ > 0) {
    const Price before = slot(newest_);
    const std::int64_t passed = second - newest_, filled = std::min(passed, seconds_max);
    for (std::int64_t back = 0; back < filled; ++back) slot(second - back) = before;
    seconds_ = std::min(seconds_ + passed, seconds_max);
  } else {
    seconds_ = 1;
  }
  newest_ = second;
  slot(second) = price;
}

Price Leaderboard::Mark::price() const {
  Int128 sum = 0;
  for (std::int64_t back = 0; back < seconds_; ++back)
    sum += at_end_[std::size_t((newest_ - back) % seconds_max)].units();
  return Price::from_units(std::int64_t(sum / seconds_));
}

void Leaderboard::add(const RoundRow& round) {
  if (round.number <= rounds_.size()) return;
  ENSURE(round.number == rounds_.size() + 1);
  rounds_.push_back(round);
}

void Leaderboard::add(const Trade& trade) {
  if (trade.id <= newest_) return;
  newest_ = trade.id;
  while (begun_ < rounds_.size() && rounds_[begun_].executions_before < trade.id) begin_round();
  if (begun_ == 0) return;
  if (trade.buyer == trade.seller) return;
  marks_[trade.symbol].add(trade.price, trade.time);
  const Int128 shares = trade.shares.units();
  count(accounts_[trade.buyer], trade.symbol, trade.buyer, shares, trade.price);
  count(accounts_[trade.seller], trade.symbol, trade.seller, -shares, trade.price);
}

void Leaderboard::update() {
  while (begun_ < rounds_.size()) begin_round();
}

void Leaderboard::begin_round() {
  if (begun_++ > 0) finished_.push_back(standings_of(&Account::round));
  if (finished_.size() > rounds_kept_max) finished_.pop_front();
  const auto holdings = held();
  for (auto& [number, account] : accounts_) {
    const auto holds = holdings.find(number);
    account.round = {};
    account.profit_before_units =
        sum(account.all.profit_units, holds == holdings.end() ? 0 : holds->second);
  }
  for (const auto& [key, shares] : positions_) {
    UInt128& largest = accounts_.at(AccountNumber(key >> 32)).round.largest_units;
    largest = std::max(largest, absolute(shares));
  }
}

void Leaderboard::count(Account& account, SymbolNumber symbol, AccountNumber number, Int128 shares,
                        Price price) {
  Int128& position = positions_[std::uint64_t(number) << 32 | symbol];
  position += shares;
  for (Counts* const counts : {&account.all, &account.round}) {
    counts->profit_units = sum(counts->profit_units, -shares * price.units());
    counts->volume_units += absolute(shares);
    counts->largest_units = std::max(counts->largest_units, absolute(position));
    ++counts->trades;
  }
}

std::unordered_map<AccountNumber, Int128> Leaderboard::held() const {
  std::unordered_map<AccountNumber, Int128> held;
  std::unordered_map<SymbolNumber, Int128> prices;
  for (const auto& [symbol, mark] : marks_) prices[symbol] = mark.price().units();
  for (const auto& [key, shares] : positions_) {
    Int128& value = held[AccountNumber(key >> 32)];
    value = sum(value, shares * prices.at(SymbolNumber(key)));
  }
  return held;
}

std::vector<Leaderboard::Standing> Leaderboard::standings_of(Counts Account::*of) const {
  const auto holdings = held();
  std::vector<Standing> standings;
  for (const auto& [number, account] : accounts_) {
    const Counts& counts = account.*of;
    if (counts.trades == 0 && counts.largest_units == 0) continue;
    const auto holds = holdings.find(number);
    Int128 profit = sum(account.all.profit_units, holds == holdings.end() ? 0 : holds->second);
    if (of == &Account::round) profit = sum(profit, -account.profit_before_units);
    constexpr UInt128 most = UInt128(std::numeric_limits<std::int64_t>::max());
    const auto shares = [&](UInt128 units) {
      return Shares::from_units(std::int64_t(std::min(units, most)));
    };
    standings.push_back({0, number, Cash::from_units(profit), shares(counts.volume_units),
                         counts.trades, shares(counts.largest_units)});
  }
  std::sort(standings.begin(), standings.end(), [](const Standing& a, const Standing& b) {
    return a.profit == b.profit ? a.account < b.account : a.profit > b.profit;
  });
  for (std::size_t at = 0; at < standings.size(); ++at)
    standings[at].rank = at > 0 && standings[at].profit == standings[at - 1].profit
                             ? standings[at - 1].rank
                             : at + 1;
  return standings;
}

std::optional<std::vector<Leaderboard::Standing>> Leaderboard::standings(
    std::uint64_t round) const {
  if (round == 0) return standings_of(&Account::all);
  if (round == begun_) return standings_of(&Account::round);
  if (!has(round)) return {};
  return finished_[round + finished_.size() - begun_];
}

}  // namespace exchange
