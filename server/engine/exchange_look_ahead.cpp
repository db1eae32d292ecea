// What LookAhead calls before a command is applied.
// The functions that only prefetch must stay out of the sources of their callers: GCC drops calls
// to those that it sees (flat_map.hpp).

#include "engine/exchange.hpp"

namespace exchange {

void Exchange::prefetch_lookups(const Command& command) const {
  if (const auto* place_order = std::get_if<PlaceOrder>(&command)) {
    account_ids_.prefetch(place_order->account);
  } else if (const auto* cancel_order = std::get_if<CancelOrder>(&command)) {
    account_ids_.prefetch(cancel_order->account);
    order_index_.prefetch(cancel_order->order);
  }
}

void Exchange::locate(const Command& command, Located& located) const {
  located = {};
  if (const auto* place_order = std::get_if<PlaceOrder>(&command)) {
    located.account = account_ids_.find(place_order->account);
    located.symbol = symbol_names_.find(place_order->symbol);
    if (located.account == no_index || located.symbol == no_index) return;
    __builtin_prefetch(&accounts_[located.account]);
    positions_.prefetch(position_key(located.account, located.symbol));
    const Side side = place_order->side, maker_side = opposite(side);
    const PriceIndex& makers = symbols_[located.symbol].sides[int(maker_side)];
    const PriceIndex& own = symbols_[located.symbol].sides[int(side)];
    located.executes =
        !makers.empty() && makers.best_rank() >= worst_rank(maker_side, place_order->limit);
    located.level =
        located.executes ? makers.best_level() : own.find(rank(side, place_order->limit));
    if (located.level != no_index) __builtin_prefetch(&levels_[located.level]);
  } else if (const auto* cancel_order = std::get_if<CancelOrder>(&command)) {
    located.account = account_ids_.find(cancel_order->account);
    located.order = order_index_.find(cancel_order->order);
    if (located.order == no_index) return;
    __builtin_prefetch(&orders_[located.order]);
    __builtin_prefetch(&histories_[located.order]);
  }
}

void Exchange::prefetch_neighbours(const Located& located) const {
  if (located.level != no_index) {
    const Level& level = levels_[located.level];
    if (level.orders > 0) __builtin_prefetch(&orders_[located.executes ? level.first : level.last]);
  }
  if (located.order == no_index) return;
  const Order& order = orders_[located.order];
  if (order.open == Shares()) return;
  if (order.previous != no_index) __builtin_prefetch(&orders_[order.previous]);
  if (order.next != no_index) __builtin_prefetch(&orders_[order.next]);
  __builtin_prefetch(&levels_[order.level]);
  __builtin_prefetch(&accounts_[order.account]);
  if (order.side == Side::sell) positions_.prefetch(position_key(order.account, order.symbol));
}

void Exchange::prefetch_maker(const Located& located) const {
  if (!located.executes || levels_[located.level].orders == 0) return;
  const Order& maker = orders_[levels_[located.level].first];
  __builtin_prefetch(&accounts_[maker.account]);
  if (maker.side == Side::buy) positions_.prefetch(position_key(maker.account, maker.symbol));
}

}  // namespace exchange
