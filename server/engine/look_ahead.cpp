#include "engine/look_ahead.hpp"

// The functions that only prefetch must stay out of the sources of their callers: GCC drops calls
// to those that it sees (flat_map.hpp).

namespace exchange {

void LookAhead::prefetch_lookups(const ExchangeState& state, const Command& command) {
  const auto of_order = [&](const auto& of_it) __attribute__((always_inline)) {
    state.ledger.prefetch(of_it.account);
    state.books.prefetch(of_it.order);
  };
  if (const auto* place_order = std::get_if<PlaceOrder>(&command))
    state.ledger.prefetch(place_order->account);
  else if (const auto* cancel_order = std::get_if<CancelOrder>(&command))
    of_order(*cancel_order);
  else if (const auto* replace_order = std::get_if<ReplaceOrder>(&command))
    of_order(*replace_order);
}

void LookAhead::locate(const ExchangeState& state, const Command& command, Located& located) {
  located = {};
  const auto locate_order = [&](const auto& of_it) {
    located.account = state.ledger.find(of_it.account);
    located.order = state.books.find(of_it.order);
    if (located.order == no_index) return;
    __builtin_prefetch(&state.books.order(located.order));
    __builtin_prefetch(&state.books.history(located.order));
  };
  if (const auto* place_order = std::get_if<PlaceOrder>(&command)) {
    located.account = state.ledger.find(place_order->account);
    located.symbol = state.ledger.find(place_order->symbol);
    if (located.account == no_index || located.symbol == no_index) return;
    __builtin_prefetch(&state.ledger.account(located.account));
    state.ledger.prefetch_position(Ledger::key(located.account, located.symbol));
    const Side side = place_order->side, maker_side = opposite(side);
    const PriceIndex& makers = state.books.side(located.symbol, maker_side);
    const PriceIndex& own = state.books.side(located.symbol, side);
    located.executes =
        !makers.empty() && makers.best_rank() >= Books::worst_rank(maker_side, place_order->limit);
    located.level = located.executes ? makers.best_level()
                                     : own.find(Books::rank(side, place_order->limit)).level;
    if (located.level != no_index) __builtin_prefetch(&state.books.level(located.level));
  } else if (const auto* cancel_order = std::get_if<CancelOrder>(&command)) {
    locate_order(*cancel_order);
  } else if (const auto* replace_order = std::get_if<ReplaceOrder>(&command)) {
    locate_order(*replace_order);
  }
}

void LookAhead::prefetch_neighbours(const ExchangeState& state, const Located& located) {
  if (located.level != no_index) {
    const Books::Level& level = state.books.level(located.level);
    if (level.orders > 0)
      __builtin_prefetch(&state.books.order(located.executes ? level.first : level.last));
  }
  if (located.order == no_index) return;
  const Books::Order& order = state.books.order(located.order);
  if (order.open == Shares()) return;
  if (order.previous != no_index) __builtin_prefetch(&state.books.order(order.previous));
  if (order.next != no_index) __builtin_prefetch(&state.books.order(order.next));
  __builtin_prefetch(&state.books.level(order.level));
  __builtin_prefetch(&state.ledger.account(order.account));
  if (order.side == Side::sell) state.ledger.prefetch_position(order.position_key());
}

void LookAhead::prefetch_maker(const ExchangeState& state, const Located& located) {
  if (!located.executes || state.books.level(located.level).orders == 0) return;
  const Books::Order& maker = state.books.order(state.books.level(located.level).first);
  __builtin_prefetch(&state.ledger.account(maker.account));
  if (maker.side == Side::buy) state.ledger.prefetch_position(maker.position_key());
}

}  // namespace exchange
