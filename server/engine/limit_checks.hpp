#pragma once
// LimitChecks refuses what would pass a limit of the state (StateLimits; docs/protocol.md, L1 to
// L3). Nothing: it may go on.
// Owner: made for one command. Thread: that of the Exchange.

#include <optional>

#include "engine/exchange_state.hpp"

namespace exchange {

class LimitChecks {
 public:
  explicit LimitChecks(const ExchangeState& state) : state_(state) {}

  // no_index: a symbol that would be created.
  std::optional<Rejected> new_symbol(SymbolNumber symbol) const {
    if (symbol != no_index || state_.ledger.symbols() < state_.limits.symbols_max) [[likely]]
      return {};
    return Rejected{Reason::too_many_symbols, state_.limits.symbols_max};
  }
  // At the limit, a position that is there stays of use.
  std::optional<Rejected> new_position(AccountNumber account, SymbolNumber symbol) const {
    if (state_.ledger.positions() < state_.limits.positions_max &&
        state_.books.open_orders().keys() < state_.limits.positions_max) [[likely]]
      return {};
    if (has_position(account, symbol)) return {};
    return Rejected{Reason::too_many_positions, state_.limits.positions_max};
  }
  // An order to place that nothing else refuses.
  std::optional<Rejected> order(const PlaceOrder& command, AccountNumber account,
                                SymbolNumber symbol, bool is_collected) const;
  // An order that would be executed at once.
  std::optional<Rejected> executions(Side side, Price limit, SymbolNumber symbol) const;

 private:
  bool has_position(AccountNumber account, SymbolNumber symbol) const;

  const ExchangeState& state_;
};

}  // namespace exchange
