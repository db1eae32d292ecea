#pragma once
// Tables holds the newest row of everything that the engine handed over, as a store does, and gives
// the image that recovery loads and the answers about orders that the engine forgot.
// Called by tests and simulations.

#include <map>
#include <optional>
#include <utility>

#include "engine/commands.hpp"
#include "engine/rows.hpp"

namespace exchange {

class Tables {
 public:
  // The last row of a key wins.
  void write(const Rows& rows);
  // All accounts, symbols and positions, the open orders and their executions.
  Rows image() const;
  std::optional<OrderRow> order(OrderId order) const;
  // Oldest first.
  std::vector<Execution> executions_of(OrderId order) const;
  // The outcome of this query or cancel, had the engine not answered `forgotten`. Throws
  // std::out_of_range if the order's row is missing.
  Outcome answer(const Command& command, const NotInMemory& forgotten) const;

 private:
  std::map<AccountNumber, AccountRow> accounts_;
  std::map<SymbolNumber, SymbolRow> symbols_;
  std::map<std::pair<AccountNumber, SymbolNumber>, PositionRow> positions_;
  std::map<OrderId, OrderRow> orders_;
  std::map<ExecutionId, ExecutionRow> executions_;
  std::map<OrderId, ReferenceRow> references_;
  Totals totals_;
};

}  // namespace exchange
