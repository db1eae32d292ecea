#include "model/tables.hpp"

namespace exchange {

void Tables::write(const Rows& rows) {
  for (const AccountRow& row : rows.accounts) accounts_[row.number] = row;
  for (const SymbolRow& row : rows.symbols) symbols_[row.number] = row;
  for (const PositionRow& row : rows.positions) positions_[{row.account, row.symbol}] = row;
  for (const OrderRow& row : rows.orders) orders_[row.id] = row;
  for (const ExecutionRow& row : rows.executions) executions_[row.id] = row;
  for (const ReferenceRow& row : rows.references) references_[row.order] = row;
  totals_ = rows.totals;
}

Rows Tables::image() const {
  Rows image;
  for (const auto& [key, row] : accounts_) image.accounts.push_back(row);
  for (const auto& [key, row] : symbols_) image.symbols.push_back(row);
  for (const auto& [key, row] : positions_) image.positions.push_back(row);
  for (const auto& [key, row] : orders_)
    if (row.is_open()) image.orders.push_back(row);
  for (const auto& [key, row] : executions_)
    if (orders_.at(row.buy_order).is_open() || orders_.at(row.sell_order).is_open())
      image.executions.push_back(row);
  for (const auto& [key, row] : references_) image.references.push_back(row);
  image.totals = totals_;
  return image;
}

std::optional<OrderRow> Tables::order(OrderId order) const {
  const auto row = orders_.find(order);
  return row == orders_.end() ? std::nullopt : std::optional(row->second);
}

std::vector<Execution> Tables::executions_of(OrderId order) const {
  std::vector<Execution> executions;
  for (const auto& [key, row] : executions_)
    if (row.buy_order == order || row.sell_order == order)
      executions.push_back({row.shares, row.price, row.time});
  return executions;
}

Outcome Tables::answer(const Command& command, const NotInMemory& forgotten) const {
  const OrderRow& order = orders_.at(forgotten.order);
  const auto* query = std::get_if<QueryOrder>(&command);
  if (order.account != forgotten.account && !(query != nullptr && query->of_any_account))
    return Rejected{Reason::unknown_order};
  if (std::holds_alternative<CancelOrder>(command)) return Rejected{Reason::nothing_open};
  return Status{order.id, order.open, order.canceled, order.canceled_at, executions_of(order.id)};
}

}  // namespace exchange
