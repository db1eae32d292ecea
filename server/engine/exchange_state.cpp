// The state of the exchange as rows: what changed, loading an image, and proving that it is sound.

#include <algorithm>
#include <span>
#include <stdexcept>

#include "engine/exchange.hpp"

namespace exchange {

// --- what changed

namespace {

// Twice the need: hand-overs differ in size, and each small growth would move to new memory.
template <class Row>
void make_room(std::vector<Row>& rows, std::size_t size) {
  if (size > rows.capacity()) rows.reserve(2 * size);
}

// `prefetch` gets each item some places before `visit` does. It must be always inline
// (flat_map.hpp).
template <class Item, class Prefetch, class Visit>
void for_each_prefetched(std::span<const Item> items, Prefetch prefetch, Visit visit) {
  constexpr std::size_t ahead = 8;
  for (std::size_t at = 0; at < items.size(); ++at) {
    if (at + ahead < items.size()) prefetch(items[at + ahead]);
    visit(items[at]);
  }
}

}  // namespace

void Exchange::take_pages_from(PageSource& pages) {
  orders_.take_pages_from(pages);
  histories_.take_pages_from(pages);
  levels_.take_pages_from(pages);
  executions_.take_pages_from(pages);
}

std::size_t Exchange::changed_rows() const {
  return dirty_accounts_.size() + dirty_symbols_.size() + dirty_positions_.size() +
         dirty_orders_.size() + new_executions_.size() + new_account_keys_.size() +
         new_references_.size() + new_replacements_.size();
}

ClosedMark Exchange::take_changes(Rows& rows) {
  const ClosedMark mark = begin_hand_over(rows);
  continue_hand_over(rows, handed_orders_.size());
  return mark;
}

ClosedMark Exchange::begin_hand_over(Rows& rows) {
  ENSURE(next_handed_ == handed_orders_.size());
  rows.accounts.clear();
  for_each_prefetched(
      std::span<const AccountNumber>(dirty_accounts_),
      [&](AccountNumber number) __attribute__((always_inline)) {
        __builtin_prefetch(&accounts_[number]);
        account_ids_.prefetch_text(number);
      },
      [&](AccountNumber number) {
        accounts_[number].dirty = false;
        rows.accounts.push_back({number, account_ids_.text(number), accounts_[number].balance});
      });
  rows.symbols.clear();
  for (const SymbolNumber number : dirty_symbols_) {
    symbols_[number].dirty = false;
    rows.symbols.push_back({number, symbol_names_.text(number), symbols_[number].shares_total});
  }
  rows.positions.clear();
  for_each_prefetched(
      std::span<const std::uint64_t>(dirty_positions_),
      [&](std::uint64_t key) __attribute__((always_inline)) { positions_.prefetch(key); },
      [&](std::uint64_t key) {
        Position& position = *positions_.find(key);
        position.set_dirty(false);
        rows.positions.push_back({account_of(key), symbol_of(key), position.shares()});
      });
  handed_orders_.clear();
  handed_orders_.swap(dirty_orders_);
  next_handed_ = 0;
  dirty_mark_ = std::uint8_t(3 - dirty_mark_);
  rows.orders.clear();
  rows.orders.swap(copied_orders_);
  make_room(copied_orders_, handed_orders_.size());
  rows.executions.clear();
  rows.executions.swap(new_executions_);
  make_room(new_executions_, rows.executions.size());
  rows.account_keys.clear();
  rows.account_keys.swap(new_account_keys_);
  rows.references.clear();
  rows.references.swap(new_references_);
  rows.replacements.clear();
  rows.replacements.swap(new_replacements_);
  rows.totals = totals_;
  dirty_accounts_.clear();
  dirty_symbols_.clear();
  dirty_positions_.clear();
  return closed_;
}

bool Exchange::continue_hand_over(Rows& rows, std::size_t orders_max) {
  const std::span<const std::uint32_t> left = std::span(handed_orders_).subspan(next_handed_);
  const std::span<const std::uint32_t> step = left.first(std::min(orders_max, left.size()));
  next_handed_ += step.size();
  for_each_prefetched(
      step,
      [&](std::uint32_t index) __attribute__((always_inline)) {
        __builtin_prefetch(&orders_[index]);
        __builtin_prefetch(&histories_[index]);
      },
      [&](std::uint32_t index) {
        if (orders_[index].dirty == dirty_mark_) return;  // changed since, and copied then
        copy_order(index);
        orders_[index].dirty = 0;
      });
  if (next_handed_ < handed_orders_.size()) return false;
  rows.orders.swap(copied_orders_);
  return true;
}

void Exchange::copy_order(std::uint32_t index) {
  const Order& order = orders_[index];
  const OrderHistory& history = histories_[index];
  copied_orders_.push_back({order.id, order.account, order.symbol, order.side, history.shares,
                            order.limit, order.open, history.canceled, history.opened_at,
                            history.canceled_at, order.place});
}

void Exchange::restore_changes(const Rows& rows) {
  for (const AccountRow& row : rows.accounts) mark_dirty(row.number);
  for (const SymbolRow& row : rows.symbols) mark_symbol_dirty(row.number);
  for (const PositionRow& row : rows.positions) {
    const std::uint64_t key = position_key(row.account, row.symbol);
    Position& position = *positions_.find(key);
    if (position.dirty()) continue;
    position.set_dirty(true);
    dirty_positions_.push_back(key);
  }
  for (const OrderRow& row : rows.orders) mark_order_dirty(order_index_.find(row.id));
  new_executions_.insert(new_executions_.begin(), rows.executions.begin(), rows.executions.end());
  new_account_keys_.insert(new_account_keys_.begin(), rows.account_keys.begin(),
                           rows.account_keys.end());
  new_references_.insert(new_references_.begin(), rows.references.begin(), rows.references.end());
  new_replacements_.insert(new_replacements_.begin(), rows.replacements.begin(),
                           rows.replacements.end());
}

// --- loading

namespace {

void require(bool sound, const char* table, std::uint64_t key, const char* problem) {
  if (!sound)
    throw std::runtime_error(std::string(table) + " row " + std::to_string(key) + ": " + problem);
}

}  // namespace

Exchange::Exchange(const Rows& image, std::uint64_t hash_seed) : Exchange(hash_seed) {
  for (const AccountRow& row : image.accounts) {
    require(row.number == accounts_.size(), "accounts", row.number, "number out of sequence");
    require(account_ids_.find(row.id) == no_index, "accounts", row.number, "id occurs twice");
    require(row.balance >= Cash(), "accounts", row.number, "balance below zero");
    account_ids_.add(row.id);
    accounts_.push_back({row.balance});
  }
  for (const AccountKeyRow& row : image.account_keys) {
    require(row.account < accounts_.size(), "account_keys", row.account, "unknown owner");
    require(row.key.has_key(), "account_keys", row.account, "holds no key");
  }
  for (const SymbolRow& row : image.symbols) {
    require(row.number == symbols_.size(), "symbols", row.number, "number out of sequence");
    require(symbol_names_.find(row.name) == no_index, "symbols", row.number, "name occurs twice");
    symbol_names_.add(row.name);
    symbols_.emplace_back().shares_total = row.shares_total;
  }
  for (const PositionRow& row : image.positions) {
    const std::uint64_t key = position_key(row.account, row.symbol);
    require(row.account < accounts_.size() && row.symbol < symbols_.size(), "positions", key,
            "unknown owner");
    require(row.shares >= Shares(), "positions", key, "shares below zero");
    require(positions_.find(key) == nullptr, "positions", key, "occurs twice");
    positions_.insert(key, {}).set_shares(row.shares);
  }

  const Totals& totals = image.totals;
  require(totals.orders <= order_ids_max, "totals", 0, "more orders than there can have been");
  require(totals.cash_created >= Cash(), "totals", 0, "cash below zero");
  OrderId last_place = 0;
  for (const OrderRow& row : image.orders) {
    require(row.id > 0 && row.id <= row.place, "orders", row.id, "id behind its place");
    require(row.place > last_place && row.place <= totals.orders, "orders", row.id,
            "place out of sequence");
    require(order_index_.find(row.id) == no_index, "orders", row.id, "id occurs twice");
    require(row.account < accounts_.size() && row.symbol < symbols_.size(), "orders", row.id,
            "unknown owner");
    require(row.open > Shares() && row.open <= row.shares, "orders", row.id,
            "open shares out of range");
    require(row.limit > Price(), "orders", row.id, "limit not above zero");
    last_place = row.place;
    require(row.side == Side::buy || positions_.find(position_key(row.account, row.symbol)),
            "orders", row.id, "a sell without a position");
    rest(add_order({.id = row.id,
                    .open = row.open,
                    .limit = row.limit,
                    .account = row.account,
                    .symbol = row.symbol,
                    .side = row.side,
                    .place = row.place},
                   {.shares = row.shares, .opened_at = row.opened_at}));
  }

  // An execution closes at least one of its orders, so that it belongs to one open order at most.
  for (const ExecutionRow& row : image.executions) {
    const std::uint32_t buy = order_index_.find(row.buy_order),
                        sell = order_index_.find(row.sell_order);
    require((buy == no_index) != (sell == no_index), "executions", row.id,
            "not of exactly one open order");
    const std::uint32_t record = executions_.allocate();
    executions_[record] = {{row.shares, row.price, row.time}, {no_index, no_index}, 1};
    record_execution(orders_[buy == no_index ? sell : buy], record);
  }

  for (const ReferenceRow& row : image.references) {
    require(row.account < accounts_.size() && row.symbol < symbols_.size(), "order_references",
            row.order, "unknown owner");
    require(row.order > 0 && row.order <= totals.orders, "order_references", row.order,
            "of an order that does not exist");
    require(references_.find(row.account, row.reference) == nullptr, "order_references", row.order,
            "occurs twice");
    references_.add(row);
  }
  totals_ = image.totals;
}

// --- proof

std::string Exchange::check_invariants() const {
  UInt128 cash = 0;
  bool too_much = false;  // forged rows can hold so much that the sum wraps
  const auto add_cash = [&](Cash amount) {
    too_much |= __builtin_add_overflow(cash, UInt128(amount.units()), &cash);
  };
  std::vector<UInt128> shares(symbols_.size(), 0);
  for (AccountNumber number = 0; number < accounts_.size(); ++number) {
    if (accounts_[number].balance < Cash())
      return "balance below zero: account " + std::string(account_ids_.text(number).view());
    add_cash(accounts_[number].balance);
  }
  positions_.for_each([&](std::uint64_t key, const Position& position) {  // never below zero
    shares[symbol_of(key)] += UInt128(position.shares().units());
  });

  std::size_t resting = 0;
  std::vector<std::uint32_t> executions;  // in the lists of all orders
  const auto add_executions = [&](const Order& order) {
    for (std::uint32_t at = order.first_execution; at != no_index;
         at = executions_[at].next[int(order.side)])
      executions.push_back(at);
  };
  for (SymbolNumber number = 0; number < symbols_.size(); ++number) {
    const std::string name(symbol_names_.text(number).view());
    const Symbol& symbol = symbols_[number];
    for (const Side side : {Side::buy, Side::sell}) {
      std::string violation;
      const Level* better = nullptr;
      symbol.sides[int(side)].for_each([&](std::uint32_t level_index) {
        const Level& level = levels_[level_index];
        if (better != nullptr && rank(side, better->price) <= rank(side, level.price))
          violation = "levels out of order: ";
        better = &level;
        Int128 level_shares = 0;
        std::uint32_t orders = 0, previous = no_index;
        OrderId last_place = 0;
        for (std::uint32_t at = level.first; at != no_index; at = orders_[at].next) {
          const Order& order = orders_[at];
          if (order.symbol != number || order.side != side || order.limit != level.price ||
              order.level != level_index)
            violation = "order in the wrong level: ";
          if (order.open <= Shares() || order.previous != previous || order.place <= last_place ||
              order_index_.find(order.id) != at)
            violation = "level queue broken: ";
          last_place = order.place;
          add_executions(order);
          previous = at;
          ++orders;
          level_shares += order.open.units();
          if (side == Side::buy)
            add_cash(cost(order.open, order.limit));
          else
            shares[number] += UInt128(order.open.units());
        }
        if (level.last != previous || level.orders != orders || orders == 0 ||
            level.shares_units != level_shares)
          violation = "level totals wrong: ";
        resting += orders;
      });
      if (!violation.empty()) return violation + name;
    }
    const PriceIndex &bids = symbol.sides[int(Side::buy)], &asks = symbol.sides[int(Side::sell)];
    if (!bids.empty() && !asks.empty() && bids.best_rank() >= -asks.best_rank())
      return "book crossed: " + name;
    if (shares[number] != UInt128(symbol.shares_total.units()))
      return "shares not conserved: " + name;
  }
  if (too_much || cash != UInt128(totals_.cash_created.units())) return "cash not conserved";

  std::size_t closed = 0;
  for (std::uint32_t at = closed_first_; at != no_index; at = orders_[at].next) {
    ++closed;
    add_executions(orders_[at]);
  }
  if (closed != closed_ - released_) return "closed orders miscounted";
  std::size_t open_of_accounts = 0;
  for (const Account& account : accounts_) open_of_accounts += account.open_orders;
  std::size_t executions_of_accounts = 0;
  for (const Account& account : accounts_) executions_of_accounts += account.executions;
  if (executions_of_accounts != executions.size()) return "executions of accounts miscounted";
  if (open_order_count_ != resting || open_of_accounts != resting) return "open orders miscounted";
  if (orders_.used() != resting + closed || order_index_.size() != orders_.used())
    return "orders miscounted";
  std::sort(executions.begin(), executions.end());
  executions.erase(std::unique(executions.begin(), executions.end()), executions.end());
  if (executions.size() != executions_.used()) return "executions miscounted";
  return {};
}

}  // namespace exchange
