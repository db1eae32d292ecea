#include "engine/limit_checks.hpp"

#include <algorithm>

namespace exchange {

// At the limits of open orders, an order that does not rest is still accepted.
std::optional<Rejected> LimitChecks::order(const PlaceOrder& command, AccountNumber account,
                                           SymbolNumber symbol, bool is_collected) const {
  const auto would_rest = [&] {
    if (is_collected) return true;
    return command.lifetime == Lifetime::until_canceled && !command.is_market() &&
           !state_.books.can_execute(command, account, symbol, command.shares, command.self_trade);
  };
  if (state_.books.open() >= state_.limits.open_orders_max) [[unlikely]]
    if (would_rest()) return Rejected{Reason::too_many_orders, state_.limits.open_orders_max};
  // each open order with an id from long ago may take a page of the index
  if (state_.books.index_pages() > 64 &&
      state_.books.index_pages() > state_.limits.open_orders_max / 12) [[unlikely]]
    if (would_rest()) return Rejected{Reason::too_many_old_orders};
  std::uint64_t orders_max = state_.limits.open_orders_per_account_max;
  if (state_.ledger.account(account).has_rules()) [[unlikely]]
    if (const std::uint64_t rule = state_.ledger.rules_of(account).orders_max; rule > 0)
      orders_max = std::min(orders_max, rule);
  if (state_.ledger.account(account).open_orders >= orders_max) [[unlikely]]
    if (would_rest()) return Rejected{Reason::too_many_orders_of_account, orders_max};
  if (const auto refusal = new_symbol(symbol)) [[unlikely]]
    return refusal;
  if (const auto refusal = new_position(account, symbol)) [[unlikely]]
    return refusal;
  // If an account has the maximum of kept references, each new one replaces an old one.
  if (command.reference && state_.references.size() >= state_.limits.references_max &&
      state_.references.count(account) < References::kept_max)
    return Rejected{Reason::too_many_references, state_.limits.references_max};
  if (is_collected) return {};
  return executions(command.side, command.limit, symbol);
}

std::optional<Rejected> LimitChecks::executions(Side side, Price limit, SymbolNumber symbol) const {
  if (state_.books.executions() < state_.limits.executions_per_account_max) [[likely]]
    return {};  // so no account has more
  if (symbol == no_index) return {};
  const Side maker_side = opposite(side);
  const PriceIndex& makers = state_.books.side(symbol, maker_side);
  if (makers.empty() || makers.best_rank() < Books::worst_rank(maker_side, limit)) return {};
  if (state_.books.executions() >= state_.limits.executions_max)
    return Rejected{Reason::too_many_executions, state_.limits.executions_max};
  const Books::Order& maker = state_.books.order(state_.books.level(makers.best_level()).first);
  if (state_.ledger.account(maker.account).executions >= state_.limits.executions_per_account_max)
    return Rejected{Reason::too_many_executions_of_account,
                    state_.limits.executions_per_account_max};
  return {};
}

bool LimitChecks::has_position(AccountNumber account, SymbolNumber symbol) const {
  if (symbol == no_index) return false;
  const std::uint64_t key = Ledger::key(account, symbol);
  return state_.ledger.find_position(key) != nullptr &&
         (state_.books.open_orders().keys() < state_.limits.positions_max ||
          state_.books.open_orders().has_key(key));
}

}  // namespace exchange
