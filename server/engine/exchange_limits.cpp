// What an exchange refuses at a limit of its state (docs/protocol.md, L1 to L3).

#include <algorithm>

#include "engine/exchange.hpp"

namespace exchange {

// An order that does not rest is accepted at the limits of open orders.
std::optional<Rejected> Exchange::check_limits(const PlaceOrder& command, AccountNumber account,
                                               SymbolNumber symbol, bool is_collected) const {
  const auto would_rest = [&] {
    if (is_collected) return true;
    return command.lifetime == Lifetime::until_canceled && !command.is_market() &&
           !can_execute(command, account, symbol, command.shares, command.self_trade);
  };
  if (books_.open() >= limits_.open_orders_max) [[unlikely]]
    if (would_rest()) return Rejected{Reason::too_many_orders, limits_.open_orders_max};
  // open orders among ids that are given long since take a page of the index each
  if (books_.index_pages() > 64 && books_.index_pages() > limits_.open_orders_max / 12) [[unlikely]]
    if (would_rest()) return Rejected{Reason::too_many_old_orders};
  std::uint64_t orders_max = limits_.open_orders_per_account_max;
  if (ledger_.account(account).has_rules()) [[unlikely]]
    if (const std::uint64_t rule = ledger_.rules_of(account).orders_max; rule > 0)
      orders_max = std::min(orders_max, rule);
  if (ledger_.account(account).open_orders >= orders_max) [[unlikely]]
    if (would_rest()) return Rejected{Reason::too_many_orders_of_account, orders_max};
  if (const auto refusal = check_new_symbol(symbol)) [[unlikely]]
    return refusal;
  if (const auto refusal = check_new_position(account, symbol)) [[unlikely]]
    return refusal;
  // An account that has all that are kept of it forgets one for each new one.
  if (command.reference && references_.size() >= limits_.references_max &&
      references_.of(account) < References::kept_max)
    return Rejected{Reason::too_many_references, limits_.references_max};
  if (is_collected) return {};
  return check_executions(command.side, command.limit, symbol);
}

std::optional<Rejected> Exchange::check_executions(Side side, Price limit,
                                                   SymbolNumber symbol) const {
  if (books_.executions() < limits_.executions_per_account_max) [[likely]]
    return {};  // so no account has more
  if (symbol == no_index) return {};
  const Side maker_side = opposite(side);
  const PriceIndex& makers = books_.side(symbol, maker_side);
  if (makers.empty() || makers.best_rank() < Books::worst_rank(maker_side, limit)) return {};
  if (books_.executions() >= limits_.executions_max)
    return Rejected{Reason::too_many_executions, limits_.executions_max};
  const Order& maker = books_.order(books_.level(makers.best_level()).first);
  if (ledger_.account(maker.account).executions >= limits_.executions_per_account_max)
    return Rejected{Reason::too_many_executions_of_account, limits_.executions_per_account_max};
  return {};
}

// At the limit, what is there already stays of use.
bool Exchange::has_position(AccountNumber account, SymbolNumber symbol) const {
  if (symbol == no_index) return false;
  const std::uint64_t key = Ledger::key(account, symbol);
  return ledger_.find_position(key) != nullptr &&
         (books_.open_orders().keys() < limits_.positions_max || books_.open_orders().has_key(key));
}

}  // namespace exchange
