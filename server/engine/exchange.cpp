#include "engine/exchange.hpp"

#include <algorithm>

#include "engine/accounts.hpp"
#include "engine/flat_map.hpp"
#include "engine/orders.hpp"
#include "engine/trading_day.hpp"

namespace exchange {
namespace {

// Calls apply() of the type that has it. A command that no type applies does not compile.
template <class AnyCommand>
Outcome apply_any(ExchangeState& state, const AnyCommand& command, Timestamp now,
                  const Located& located, DoorPolicy policy) {
  Orders orders(state);
  if constexpr (requires { orders.apply(command, now, located, policy); })
    return orders.apply(command, now, located, policy);
  else if constexpr (requires { orders.apply(command, now, located); })
    return orders.apply(command, now, located);
  else if constexpr (requires { orders.apply(command, policy); })
    return orders.apply(command, policy);
  else if constexpr (requires { orders.apply(command, now); })
    return orders.apply(command, now);
  else if constexpr (requires { orders.apply(command); })
    return orders.apply(command);
  else if constexpr (requires { TradingDay(state).apply(command, now); })
    return TradingDay(state).apply(command, now);
  else
    return Accounts(state).apply(command, now);
}

}  // namespace

// Checks for the frequent commands first.
Outcome Exchange::apply(const Command& command, Timestamp now, const Located& located,
                        DoorPolicy policy) {
  if (const auto* place_order = std::get_if<PlaceOrder>(&command))
    return Orders(state_).apply(*place_order, now, located, policy);
  if (const auto* cancel_order = std::get_if<CancelOrder>(&command))
    return Orders(state_).apply(*cancel_order, now, located);
  if (const auto* replace_order = std::get_if<ReplaceOrder>(&command))
    return Orders(state_).apply(*replace_order, now, located);
  if (const auto* query = std::get_if<QueryOrder>(&command))
    return Orders(state_).apply(*query, policy);
  return std::visit([&](const auto& rare) { return apply_any(state_, rare, now, located, policy); },
                    command);
}

// --- what changed

ClosedMark Exchange::take_changes(Rows& rows) {
  const ClosedMark mark = begin_hand_over(rows);
  continue_hand_over(rows, std::numeric_limits<std::size_t>::max());
  return mark;
}

ClosedMark Exchange::begin_hand_over(Rows& rows) {
  state_.ledger.hand_over(state_.changes, rows);
  state_.changes.begin_hand_over(rows);
  rows.totals = state_.totals;
  return state_.books.closed();
}

bool Exchange::continue_hand_over(Rows& rows, std::size_t orders_max) {
  for_each_prefetched(
      state_.changes.next_orders(orders_max),
      [&](std::uint32_t index) __attribute__((always_inline)) {
        __builtin_prefetch(&state_.books.order(index));
        __builtin_prefetch(&state_.books.history(index));
      },
      [&](std::uint32_t index) {
        state_.changes.hand_over(state_.books.order(index),
                                 [&, index](OrderRow& row) { state_.books.read_row(index, row); });
      });
  return state_.changes.end_hand_over(rows);
}

void Exchange::restore_changes(const Rows& rows) {
  state_.ledger.restore(rows, state_.changes);
  for (const OrderRow& row : rows.orders) state_.mark_order(state_.books.find(row.id));
  state_.changes.restore(rows);
}

std::vector<SymbolRow> Exchange::symbol_rows() const {
  std::vector<SymbolRow> rows;
  for (SymbolNumber number = 0; number < state_.ledger.symbols(); ++number)
    rows.push_back(state_.ledger.row(number));
  return rows;
}

bool Exchange::release_closed(ClosedMark mark, std::size_t orders_max) {
  return state_.books.release_closed(mark, orders_max,
                                     [&](AccountNumber account, std::uint32_t executions) {
                                       if (executions > 0)
                                         state_.ledger.account(account).executions -= executions;
                                     });
}

// --- looking in

std::vector<Exchange::Depth> Exchange::depth(const SymbolName& symbol, Side side) const {
  std::vector<Depth> depth;
  const SymbolNumber number = state_.ledger.find(symbol);
  if (number == no_index) return depth;
  state_.books.side(number, side).for_each([&](std::uint32_t at) {
    const Books::Level& level = state_.books.level(at);
    if (level.orders > 0) depth.push_back({level.price, level.shares_units, level.orders});
  });
  return depth;
}

std::optional<OrderRow> Exchange::order(OrderId id) const {
  const std::uint32_t index = state_.books.find(id);
  if (index == no_index) return {};
  OrderRow row;
  state_.books.read_row(index, row);
  return row;
}

std::optional<Price> Exchange::best_price(const SymbolName& symbol, Side side) const {
  const SymbolNumber number = state_.ledger.find(symbol);
  if (number == no_index || state_.books.side(number, side).empty()) return {};
  return state_.books.level(state_.books.side(number, side).best_level()).price;
}

Exchange::Depth Exchange::depth_at(const SymbolName& symbol, Side side, Price price) const {
  const SymbolNumber number = state_.ledger.find(symbol);
  if (number == no_index) return {price, 0, 0};
  const std::uint32_t at = state_.books.side(number, side).find(Books::rank(side, price)).level;
  if (at == no_index) return {price, 0, 0};
  return {price, state_.books.level(at).shares_units, state_.books.level(at).orders};
}

std::span<const ExecutionRow> Exchange::executions_after(ExecutionId id) const {
  ENSURE(id <= state_.totals.executions);
  const std::span<const ExecutionRow> kept = state_.changes.executions;
  return kept.last(std::min<std::size_t>(state_.totals.executions - id, kept.size()));
}

Cash Exchange::balance(const AccountId& account) const {
  const AccountNumber number = state_.ledger.find(account);
  return number == no_index ? Cash() : state_.ledger.account(number).balance;
}

Shares Exchange::position(const AccountId& account, const SymbolName& symbol) const {
  const AccountNumber account_number = state_.ledger.find(account);
  const SymbolNumber symbol_number = state_.ledger.find(symbol);
  if (account_number == no_index || symbol_number == no_index) return Shares();
  const Ledger::Position* position =
      state_.ledger.find_position(Ledger::key(account_number, symbol_number));
  return position == nullptr ? Shares() : position->shares();
}

}  // namespace exchange
