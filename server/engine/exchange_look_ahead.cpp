// What LookAhead calls before a command is applied.
// The functions that only prefetch must stay out of the sources of their callers: GCC drops calls
// to those that it sees (flat_map.hpp).

#include "engine/exchange.hpp"

namespace exchange {

void Exchange::prefetch_lookups(const Command& command) const {
  const auto of_order = [&](const auto& of_it) __attribute__((always_inline)) {
    ledger_.prefetch(of_it.account);
    books_.prefetch(of_it.order);
  };
  if (const auto* place_order = std::get_if<PlaceOrder>(&command))
    ledger_.prefetch(place_order->account);
  else if (const auto* cancel_order = std::get_if<CancelOrder>(&command))
    of_order(*cancel_order);
  else if (const auto* replace_order = std::get_if<ReplaceOrder>(&command))
    of_order(*replace_order);
}

void Exchange::locate(const Command& command, Located& located) const {
  located = {};
  const auto locate_order = [&](const auto& of_it) {
    located.account = ledger_.find(of_it.account);
    located.order = books_.find(of_it.order);
    if (located.order == no_index) return;
    __builtin_prefetch(&books_.order(located.order));
    __builtin_prefetch(&books_.history(located.order));
  };
  if (const auto* place_order = std::get_if<PlaceOrder>(&command)) {
    located.account = ledger_.find(place_order->account);
    located.symbol = ledger_.find(place_order->symbol);
    if (located.account == no_index || located.symbol == no_index) return;
    __builtin_prefetch(&ledger_.account(located.account));
    ledger_.prefetch_position(Ledger::key(located.account, located.symbol));
    const Side side = place_order->side, maker_side = opposite(side);
    const PriceIndex& makers = books_.side(located.symbol, maker_side);
    const PriceIndex& own = books_.side(located.symbol, side);
    located.executes =
        !makers.empty() && makers.best_rank() >= Books::worst_rank(maker_side, place_order->limit);
    located.level =
        located.executes ? makers.best_level() : own.find(Books::rank(side, place_order->limit));
    if (located.level != no_index) __builtin_prefetch(&books_.level(located.level));
  } else if (const auto* cancel_order = std::get_if<CancelOrder>(&command)) {
    locate_order(*cancel_order);
  } else if (const auto* replace_order = std::get_if<ReplaceOrder>(&command)) {
    locate_order(*replace_order);
  }
}

void Exchange::prefetch_neighbours(const Located& located) const {
  if (located.level != no_index) {
    const Level& level = books_.level(located.level);
    if (level.orders > 0)
      __builtin_prefetch(&books_.order(located.executes ? level.first : level.last));
  }
  if (located.order == no_index) return;
  const Order& order = books_.order(located.order);
  if (order.open == Shares()) return;
  if (order.previous != no_index) __builtin_prefetch(&books_.order(order.previous));
  if (order.next != no_index) __builtin_prefetch(&books_.order(order.next));
  __builtin_prefetch(&books_.level(order.level));
  __builtin_prefetch(&ledger_.account(order.account));
  if (order.side == Side::sell) ledger_.prefetch_position(order.position_key());
}

void Exchange::prefetch_maker(const Located& located) const {
  if (!located.executes || books_.level(located.level).orders == 0) return;
  const Order& maker = books_.order(books_.level(located.level).first);
  __builtin_prefetch(&ledger_.account(maker.account));
  if (maker.side == Side::buy) ledger_.prefetch_position(maker.position_key());
}

}  // namespace exchange
