#include "engine/books.hpp"

#include <algorithm>

namespace exchange {

void Books::take_pages_from(PageSource& pages) {
  orders_.take_pages_from(pages);
  histories_.take_pages_from(pages);
  levels_.take_pages_from(pages);
  executions_.take_pages_from(pages);
}

void Books::read_status(std::uint32_t index, Status& status, std::uint64_t from) const {
  const Order& order = orders_[index];
  status.order = order.id;
  status.open = order.open;
  status.canceled = histories_[index].canceled;
  status.canceled_at = histories_[index].canceled_at;
  list_executions(index, status, from);
}

void Books::list_executions(std::uint32_t index, Status& status, std::uint64_t from) const {
  const Order& order = orders_[index];
  std::uint64_t number = 1;
  for (std::uint32_t at = order.first_execution; at != no_index;
       at = executions_[at].next[int(order.side)], ++number) {
    if (number < from) continue;
    if (status.executions.size() == listed_executions_max) {
      status.next = number;
      break;
    }
    status.executions.push_back(executions_[at].execution);
  }
  status.skipped = std::min(from, number) - 1;
}

const OpenOrders& Books::use_open_orders() {
  if (open_orders_.in_use()) return open_orders_;
  std::vector<std::pair<OrderId, std::uint32_t>> open;  // by place
  for_each_resting([&](std::uint32_t index) { open.push_back({orders_[index].place, index}); });
  std::sort(open.begin(), open.end());
  open_orders_.start_use();
  for (const auto& [place, index] : open)
    open_orders_.add(orders_[index].account, orders_[index].position_key(), index);
  return open_orders_;
}

void Books::rest(std::uint32_t index, std::uint32_t expected_level) {
  Order& order = orders_[index];
  ++open_;
  BookSide& book_side = symbols_[order.symbol].sides[int(order.side)];
  const std::int64_t order_rank = rank(order.side, order.limit);
  const auto still_holds = [&](const Level& level) {
    return level.price == order.limit && level.symbol == order.symbol && level.side == order.side;
  };
  PriceIndex::Place place{expected_level};
  if (expected_level == no_index || !still_holds(levels_[expected_level]))
    place = book_side.levels.find(order_rank);
  order.level = place.level;
  const bool is_new = order.level == no_index;
  if (is_new) {
    order.level = levels_.allocate();
    Level& level = levels_[order.level];
    level.price = order.limit;
    level.shares_units = 0;
    level.orders = 0;
    level.symbol = order.symbol;
    level.side = order.side;
    book_side.levels.insert(place, order_rank, order.level);
  }
  Level& level = levels_[order.level];
  order.next = no_index;
  if (level.orders == 0) {
    if (!is_new) take_from_empty(level, book_side);
    ++book_side.with_orders;
    order.previous = no_index;
    level.first = index;
  } else {
    order.previous = level.last;
    orders_[level.last].next = index;
  }
  level.last = index;
  level.shares_units += order.open.units();
  ++level.orders;
  if (open_orders_.in_use()) open_orders_.add(order.account, order.position_key(), index);
}

void Books::unlink(std::uint32_t index) {
  const Order& order = orders_[index];
  --open_;
  Level& level = levels_[order.level];
  (order.previous == no_index ? level.first : orders_[order.previous].next) = order.next;
  (order.next == no_index ? level.last : orders_[order.next].previous) = order.previous;
  if (--level.orders == 0) leave_empty(order.level, symbols_[order.symbol].sides[int(order.side)]);
  if (open_orders_.in_use()) open_orders_.remove(order.account, order.position_key(), index);
}

void Books::leave_empty(std::uint32_t level, BookSide& side) {
  --side.with_orders;
  if (level == side.levels.best_level()) {
    side.levels.erase_best();
    release_level(level);
    while (!side.levels.empty() && levels_[side.levels.best_level()].orders == 0)
      remove_empty(side.levels.best_level(), side);
  } else {
    levels_[level].first = side.last_left;
    levels_[level].last = no_index;
    (side.last_left == no_index ? side.first_left : levels_[side.last_left].last) = level;
    side.last_left = level;
    ++side.empty;
  }
  while (side.empty > side.empty_max()) remove_empty(side.first_left, side);
}

void Books::take_from_empty(const Level& level, BookSide& side) {
  (level.first == no_index ? side.first_left : levels_[level.first].last) = level.last;
  (level.last == no_index ? side.last_left : levels_[level.last].first) = level.first;
  --side.empty;
}

void Books::remove_empty(std::uint32_t level, BookSide& side) {
  take_from_empty(levels_[level], side);
  side.levels.erase(rank(levels_[level].side, levels_[level].price));
  release_level(level);
}

void Books::release_level(std::uint32_t level) {
  levels_[level].price = Price::from_units(-1);
  levels_.release(level);
}

void Books::close(std::uint32_t index) {
  orders_[index].next = no_index;
  if (closed_last_ == no_index)
    closed_first_ = index;
  else
    orders_[closed_last_].next = index;
  closed_last_ = index;
  ++closed_;
}

// Returns the number of executions that the order had.
std::uint32_t Books::release_first() {
  const std::uint32_t index = closed_first_;
  const Order& order = orders_[index];
  ENSURE(order.dirty == 0);
  closed_first_ = order.next;
  if (closed_first_ == no_index) closed_last_ = no_index;
  std::uint32_t listed = 0;
  for (std::uint32_t at = order.first_execution; at != no_index; ++listed) {
    const std::uint32_t next = executions_[at].next[int(order.side)];
    if (--executions_[at].holders == 0) executions_.release(at);
    at = next;
  }
  order_index_.erase(order.id);
  orders_.release(index);
  return listed;
}

// --- proof

std::string Books::check(const Ledger& ledger, Held& held) const {
  for (SymbolNumber number = 0; number < symbols_.size(); ++number) {
    const Instrument& rules = ledger.symbol(number).instrument;
    const char* violation = check_side(number, Side::buy, rules.price_max, held);
    if (violation == nullptr) violation = check_side(number, Side::sell, rules.price_max, held);
    const PriceIndex &bids = side(number, Side::buy), &asks = side(number, Side::sell);
    if (violation == nullptr && rules.trading == Trading::open && !bids.empty() && !asks.empty() &&
        bids.best_rank() >= -asks.best_rank())
      violation = "book crossed: ";
    for (const PriceIndex* side : {&bids, &asks})
      if (violation == nullptr && !collects(rules.trading) && !side->empty() &&
          levels_[side->best_level()].price == Price())
        violation = "a market order rests: ";
    if (violation != nullptr) return violation + std::string(ledger.name(number).view());
  }
  std::size_t resting = 0, closed = 0;
  for (const std::uint32_t of_account : held.open_orders) resting += of_account;
  std::vector<std::uint32_t> executions;  // in the lists of all orders
  const auto add_executions = [&](std::uint32_t index) {
    for_each_execution(orders_[index], [&](std::uint32_t at) {
      executions.push_back(at);
      ++held.executions[orders_[index].account];
    });
  };
  for_each_resting(add_executions);
  for (std::uint32_t at = closed_first_; at != no_index; at = orders_[at].next) {
    ++closed;
    add_executions(at);
  }
  if (closed != closed_ - released_) return "closed orders miscounted";
  if (open_ != resting) return "open orders miscounted";
  if (orders_.used() != resting + closed || order_index_.size() != orders_.used())
    return "orders miscounted";
  std::sort(executions.begin(), executions.end());
  executions.erase(std::unique(executions.begin(), executions.end()), executions.end());
  if (executions.size() != executions_.used()) return "executions miscounted";
  return {};
}

// Returns null if the side is sound.
const char* Books::check_side(SymbolNumber number, Side level_side, Price market_price,
                              Held& held) const {
  const char* violation = nullptr;
  const Level* better = nullptr;
  std::uint32_t with_orders = 0, empty = 0;
  side(number, level_side).for_each([&](std::uint32_t index) {
    const Level& level = levels_[index];
    ++(level.orders == 0 ? empty : with_orders);
    if (better != nullptr && rank(level_side, better->price) <= rank(level_side, level.price))
      violation = "levels out of order: ";
    better = &level;
    const char* const of_level = check_level(index, number, level_side, market_price, held);
    if (of_level != nullptr) violation = of_level;
  });
  const BookSide& counted = symbols_[number].sides[int(level_side)];
  std::uint32_t left = 0;
  for (std::uint32_t at = counted.first_left; at != no_index; at = levels_[at].last) {
    const Level& level = levels_[at];
    if (level.orders != 0 || level.symbol != number || level.side != level_side ||
        (level.last == no_index ? counted.last_left != at : levels_[level.last].first != at))
      violation = "list of levels without orders broken: ";
    ++left;
  }
  if (counted.with_orders != with_orders || counted.empty != empty || left != empty ||
      empty > counted.empty_max())
    violation = "levels miscounted: ";
  const PriceIndex& levels = counted.levels;
  if (!levels.empty() && levels_[levels.best_level()].orders == 0)
    violation = "no order at the best price: ";
  return violation;
}

const char* Books::check_level(std::uint32_t index, SymbolNumber number, Side level_side,
                               Price market_price, Held& held) const {
  const char* violation = nullptr;
  const Level& level = levels_[index];
  Int128 shares = 0;
  std::uint32_t orders = 0, previous = no_index;
  OrderId last_place = 0;
  if (level.orders == 0)
    return level.shares_units == 0 && level.symbol == number && level.side == level_side
               ? nullptr
               : "level totals wrong: ";
  for (std::uint32_t at = level.first; at != no_index; at = orders_[at].next) {
    const Order& order = orders_[at];
    if (order.symbol != number || order.side != level_side || order.limit != level.price ||
        order.level != index)
      violation = "order in the wrong level: ";
    if (order.open <= Shares() || order.previous != previous || order.place <= last_place ||
        order_index_.find(order.id) != at)
      violation = "level queue broken: ";
    last_place = order.place;
    previous = at;
    ++orders;
    ++held.open_orders[order.account];
    shares += order.open.units();
    if (level_side == Side::buy)
      held.add_cash(cost(order.open, order.limit == Price() ? market_price : order.limit));
    else
      held.shares[number] += UInt128(order.open.units());
  }
  if (level.last != previous || level.orders != orders || level.shares_units != shares ||
      level.symbol != number || level.side != level_side)
    violation = "level totals wrong: ";
  return violation;
}

bool Books::can_execute(const PlaceOrder& placed, AccountNumber account, SymbolNumber symbol,
                        Shares missing, SelfTrade self_trade) const {
  if (symbol == no_index) return false;
  const Side maker_side = opposite(placed.side);
  const std::int64_t worst = worst_rank(maker_side, placed.limit);
  unsigned reach = fill_or_kill_reach;
  const auto take = [&](Int128 units) {
    missing -= units < missing.units() ? Shares::from_units(std::int64_t(units)) : missing;
    return missing > Shares() && --reach > 0;
  };
  this->side(symbol, maker_side).for_each_while([&](std::int64_t level_rank, std::uint32_t level) {
    if (level_rank < worst) return false;
    if (levels_[level].orders == 0) return true;  // none of its orders counts
    if (self_trade == SelfTrade::allowed) return take(levels_[level].shares_units);
    for (std::uint32_t at = levels_[level].first; at != no_index; at = orders_[at].next) {
      const bool own = orders_[at].account == account;
      if (own && self_trade == SelfTrade::cancel_taking) return false;
      if (!take(own ? 0 : orders_[at].open.units())) return false;
    }
    return true;
  });
  return missing == Shares();
}

}  // namespace exchange
