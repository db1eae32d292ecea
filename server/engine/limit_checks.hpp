#pragma once
// LimitChecks refuses commands that would exceed a limit of the state (StateLimits;
// docs/protocol.md, L1 to L3). Each check returns nothing if the command may continue.
// Owner: made for one command. Thread: that of the Exchange.

#include <optional>

#include "engine/exchange_state.hpp"

namespace exchange {

class LimitChecks {
 public:
  explicit LimitChecks(const ExchangeState& state) : state_(state) {}

  // no_index stands for a symbol that the command would create.
  std::optional<Rejected> new_symbol(SymbolNumber symbol) const {
    if (symbol != no_index || state_.ledger.symbols() < state_.limits.symbols_max) [[likely]]
      return {};
    return Rejected{Reason::too_many_symbols, state_.limits.symbols_max};
  }
  // At the limit, an existing position remains usable.
  std::optional<Rejected> new_position(AccountNumber account, SymbolNumber symbol) const {
    if (state_.ledger.positions() < state_.limits.positions_max &&
        state_.books.open_orders().keys() < state_.limits.positions_max) [[likely]]
      return {};
    if (has_position(account, symbol)) return {};
    return Rejected{Reason::too_many_positions, state_.limits.positions_max};
  }
  // Checks an order to place that no other rule refuses.
  std::optional<Rejected> order(const PlaceOrder& command, AccountNumber account,
                                SymbolNumber symbol, bool is_collected) const;
  // Checks an order that would be executed at once.
  std::optional<Rejected> executions(Side side, Price limit, SymbolNumber symbol) const;

 private:
  bool has_position(AccountNumber account, SymbolNumber symbol) const;

  const ExchangeState& state_;
};

}  // namespace exchange
