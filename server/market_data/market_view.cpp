#include "market_data/market_view.hpp"

#include <algorithm>

#include "base/bursts.hpp"

namespace exchange {

MarketView::MarketView(std::size_t trades_kept_max, std::size_t trades_in_all_max,
                       std::uint64_t hash_seed)
    : trades_kept_max_(trades_kept_max),
      trades_in_all_max_(trades_in_all_max),
      account_ids_(hash_seed),
      symbol_names_(hash_seed),
      position_index_(hash_seed) {
  ENSURE(trades_kept_max > 0);
}

void MarketView::load(const Rows& tables, std::uint64_t batch,
                      std::span<const ExecutionRow> trades) {
  returns_changes_ = false;
  put_rows(tables);
  loaded_orders_ = tables.totals.orders;
  batch_ = board_batch_ = batch;
  for (const RoundRow& row : tables.rounds) leaderboard_.add(row);
  for (const ExecutionRow& row : trades) add_trade(row);
  returns_changes_ = true;
  for (Symbol& symbol : symbols_) {
    symbol.sequence = symbol.trades_seen = 0;
    symbol.traded_units = 0;
  }
}

const std::vector<MarketView::Change>& MarketView::apply(const Rows& rows, std::uint64_t batch) {
  for (const Change& change : changes_) change_index_[change.symbol] = no_index;
  changes_.clear();
  batch_ = batch;
  put_rows(rows);
  // After a takeover the server projects some executions again that it showed as a standby.
  Bursts::each(rows.executions, [&](const ExecutionRow& row) {
    if (row.id > newest_execution_) add_trade(row);
  });
  if (!rows.executions.empty() || !rows.rounds.empty() || !rows.account_rules.empty())
    board_batch_ = batch;
  leaderboard_.add(rows, [](const auto& all, auto visit) { Bursts::each(all, visit); });
  for (Change& change : changes_) {
    Symbol& symbol = symbols_[change.symbol];
    change.sequence = ++symbol.sequence;
    for (const Side side : {Side::buy, Side::sell})
      for (auto& [at, level] : change.levels[int(side)]) {
        const auto now = symbol.levels[int(side)].find(at);
        level = now == symbol.levels[int(side)].end() ? Level{} : now->second;
      }
  }
  return changes_;
}

// Applies all rows except executions.
void MarketView::put_rows(const Rows& rows) {
  Bursts::each(rows.accounts, [&](const AccountRow& row) { put_account(row); });
  for (const AccountRulesRow& row : rows.account_rules) {
    account_rules_[row.account] = row.rules();
    account_names_[row.account] = row.name;
  }
  for (const SymbolRow& row : rows.symbols) put_symbol(row);
  Bursts::each(rows.positions, [&](const PositionRow& row) {
    position(row.account, row.symbol).shares = row.shares;
  });
  entering_.clear();
  Bursts::each(rows.orders, [&](const OrderRow& row) { put_order(row); });
  // The rows come in any order. All places in entering_ come after those of the orders that stay.
  std::sort(entering_.begin(), entering_.end(),
            [](const OrderRow* a, const OrderRow* b) { return a->place < b->place; });
  Bursts::each(entering_, [&](const OrderRow* row) { open(*row); });
  Bursts::each(rows.references, [&](const ReferenceRow& row) {
    if (order_index_.find(row.order) != no_index) references_.emplace(row.order, row.reference);
  });
}

std::optional<AuctionPrice> MarketView::Symbol::indicative() const {
  std::vector<AuctionLevel> sides[2];
  for (const Side side : {Side::buy, Side::sell})
    for (const auto& [rank, level] : levels[int(side)])
      sides[int(side)].push_back({price_of(side, rank), level.shares_units});
  return auction_price(sides[int(Side::buy)], sides[int(Side::sell)],
                       allows(instrument, last_price) ? last_price : Price(), instrument.price_max);
}

const MarketView::Symbol* MarketView::find_symbol(const SymbolName& name) const {
  const SymbolNumber number = symbol_names_.find(name);
  return number == no_index ? nullptr : &symbols_[number];
}

std::optional<SymbolNumber> MarketView::symbol_number(const SymbolName& name) const {
  const SymbolNumber number = symbol_names_.find(name);
  return number == no_index ? std::nullopt : std::optional(number);
}

const MarketView::Account* MarketView::find_account(const AccountId& id) const {
  const AccountNumber number = account_ids_.find(id);
  return number == no_index ? nullptr : &accounts_[number];
}

std::optional<std::size_t> MarketView::find_position(const Account& account,
                                                     SymbolNumber symbol) const {
  const std::uint32_t* index = position_index_.find(position_key(number_of(account), symbol));
  return index == nullptr ? std::nullopt : std::optional<std::size_t>(*index);
}

bool MarketView::has_open_order(const Account& account, OrderId order) const {
  const std::uint32_t index = order_index_.find(order);
  return index != no_index && orders_[index].row.account == number_of(account);
}

// New accounts and symbols come in the order of their numbers, as they were created.

void MarketView::put_account(const AccountRow& row) {
  if (row.number >= accounts_.size()) {
    const AccountNumber number = account_ids_.add(row.id);
    ENSURE(number == row.number);
    accounts_.emplace_back();
  }
  accounts_[row.number].balance = row.balance;
  accounts_[row.number].events = row.events;
}

void MarketView::put_symbol(const SymbolRow& row) {
  if (row.number >= symbols_.size()) {
    const SymbolNumber number = symbol_names_.add(row.name);
    ENSURE(number == row.number);
    symbols_.emplace_back().name = row.name;
    change_index_.push_back(no_index);
  }
  Symbol& symbol = symbols_[row.number];
  // In an auction a change of rules, such as of the valid prices, may change what it would execute.
  const bool trades_otherwise = symbol.instrument.trading != row.trading ||
                                (collects(row.trading) && symbol.instrument != row.instrument());
  symbol.shares_total = row.shares_total;
  symbol.instrument = row.instrument();
  symbol.trading_since = row.trading_since;
  symbol.last_price = row.last_price;
  if (trades_otherwise && returns_changes_) change_of(row.number);
}

void MarketView::put_order(const OrderRow& row) {
  if (const std::uint32_t index = order_index_.find(row.id); index != no_index) {
    Order& order = orders_[index];
    if (row.is_open() && row.place == order.row.place) {  // and so at its limit
      change_open(order, row.open.units() - order.row.open.units(), 0);
      order.row = row;
      return;
    }
    close(index);
    if (!row.is_open()) references_.erase(row.id);
  }
  // An order that opened and closed between two updates never rested here.
  if (row.is_open()) entering_.push_back(&row);
}

void MarketView::open(const OrderRow& row) {
  const std::uint32_t index = orders_.allocate();
  Account& account = accounts_[row.account];
  const Price reserved =
      row.limit == Price() ? symbols_[row.symbol].instrument.price_max : row.limit;
  orders_[index] = {row, reserved, account.last_order, no_index};
  (account.last_order == no_index ? account.first_order : orders_[account.last_order].next) = index;
  account.last_order = index;
  ++account.open_orders;
  ++symbols_[row.symbol].open_orders;
  order_index_.insert(row.id, index);
  change_open(orders_[index], row.open.units(), 1);
}

void MarketView::close(std::uint32_t index) {
  const Order& order = orders_[index];
  Account& account = accounts_[order.row.account];
  (order.previous == no_index ? account.first_order : orders_[order.previous].next) = order.next;
  (order.next == no_index ? account.last_order : orders_[order.next].previous) = order.previous;
  --account.open_orders;
  --symbols_[order.row.symbol].open_orders;
  change_open(order, -order.row.open.units(), -1);
  order_index_.erase(order.row.id);
  orders_.release(index);
}

void MarketView::change_open(const Order& order, std::int64_t change, int orders) {
  const OrderRow& row = order.row;
  const std::int64_t at = rank(row.side, row.limit);
  auto& levels = symbols_[row.symbol].levels[int(row.side)];
  Level& level = levels[at];
  level.shares_units += change;
  level.orders += std::uint32_t(orders);
  if (level.orders == 0) levels.erase(at);
  if (returns_changes_) change_of(row.symbol).levels[int(row.side)].try_emplace(at);

  if (row.side == Side::buy)
    accounts_[row.account].reserved += Cash::from_units(Int128(change) * order.reserved.units());
  else
    position(row.account, row.symbol).reserved_units += change;
}

void MarketView::add_trade(const ExecutionRow& row) {
  newest_execution_ = row.id;
  Symbol& symbol = symbols_[row.symbol];
  symbol.trades.push_back({row.id, row.price, row.shares, row.taker, row.of_auction, row.buy_order,
                           row.sell_order, row.time});
  if (symbol.trades.size() > trades_kept_max_) symbol.trades.pop_front();
  newest_trades_.push_back({row.symbol, row.id});
  if (newest_trades_.size() > trades_in_all_max_) {
    std::deque<Trade>& trades = symbols_[newest_trades_.front().symbol].trades;
    if (!trades.empty() && trades.front().id == newest_trades_.front().id) trades.pop_front();
    newest_trades_.pop_front();
  }
  ++symbol.trades_seen;
  symbol.traded_units += UInt128(row.shares.units());
  if (returns_changes_) change_of(row.symbol).trades.push_back(symbol.trades.back());
}

MarketView::Position& MarketView::position(AccountNumber account, SymbolNumber symbol) {
  std::vector<Position>& positions = accounts_[account].positions;
  const std::uint64_t key = position_key(account, symbol);
  if (const std::uint32_t* index = position_index_.find(key)) return positions[*index];
  position_index_.insert(key, std::uint32_t(positions.size()));
  return positions.emplace_back(Position{symbol, Shares()});
}

MarketView::Change& MarketView::change_of(SymbolNumber symbol) {
  std::uint32_t& index = change_index_[symbol];
  if (index == no_index) {
    index = std::uint32_t(changes_.size());
    changes_.push_back({.symbol = symbol, .sequence = 0});
  }
  return changes_[index];
}

}  // namespace exchange
