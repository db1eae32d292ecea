#pragma once
// ModelTables holds the newest row of everything that the engine handed over, as a store does. It
// gives the image that recovery loads, and the answers about orders that the engine released. It
// computes the data for which stores have no column, as they do: the place of an order and the
// taker of an execution. Called by tests and simulations.

#include <map>
#include <optional>
#include <utility>

#include "engine/commands.hpp"
#include "engine/rows.hpp"

namespace exchange {

class ModelTables {
 public:
  // The last row of a key wins.
  void write(const Rows& rows);
  // Returns all accounts, symbols and positions, the open orders by place, and their executions.
  Rows image() const;
  std::optional<OrderRow> order(OrderId order) const;
  std::optional<ReplacementRow> replacement(OrderId number) const;
  // Returns the executions, oldest first.
  std::vector<Execution> executions_of(OrderId order) const;
  // Returns the existing events with the numbers from `first` to `last`.
  std::vector<EventRow> events(AccountNumber account, EventNumber first, EventNumber last) const;
  // Returns the outcome that this command would have had if the engine had not answered
  // `forgotten`. An order without a row is unknown: the number may be that of a replacement.
  Outcome answer(const Command& command, const NotInMemory& forgotten) const;

 private:
  // Returns the place of the order when `executions` executions existed.
  OrderId place(OrderId order, ExecutionId executions) const;

  std::map<AccountNumber, AccountRow> accounts_;
  std::map<AccountNumber, AccountKeyRow> account_keys_;
  std::map<AccountNumber, AccountRulesRow> account_rules_;
  std::map<SymbolNumber, SymbolRow> symbols_;
  std::map<std::pair<AccountNumber, SymbolNumber>, PositionRow> positions_;
  std::map<OrderId, OrderRow> orders_;
  std::map<ExecutionId, ExecutionRow> executions_;
  std::map<OrderId, ReferenceRow> references_;
  std::map<OrderId, ReplacementRow> replacements_;
  std::map<std::pair<AccountNumber, EventNumber>, EventRow> events_;
  std::map<std::uint64_t, RoundRow> rounds_;
  Totals totals_;
};

}  // namespace exchange
