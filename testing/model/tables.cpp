#include "model/tables.hpp"

namespace exchange {

void Tables::write(const Rows& rows) {
  for (const AccountRow& row : rows.accounts) accounts_[row.number] = row;
  for (const SymbolRow& row : rows.symbols) symbols_[row.number] = row;
  for (const PositionRow& row : rows.positions) positions_[{row.account, row.symbol}] = row;
  for (const OrderRow& row : rows.orders) orders_[row.id] = row;
  for (const ExecutionRow& row : rows.executions) executions_[row.id] = row;
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
    if (orders_.at(row.buy_order).is_open() || orders_.at(row.sell_order).is_open()) image.executions.push_back(row);
  image.totals = totals_;
  return image;
}

Outcome Tables::answer(const Command& command, const NotInMemory& forgotten) const {
  const OrderRow& order = orders_.at(forgotten.order);
  if (order.account != forgotten.account) return Rejected{Reason::unknown_order};
  if (std::holds_alternative<CancelOrder>(command)) return Rejected{Reason::nothing_open};
  Status status{order.id, order.open, order.canceled, order.canceled_at, {}};
  for (const auto& [key, row] : executions_)
    if (row.buy_order == order.id || row.sell_order == order.id)
      status.executions.push_back({row.shares, row.price, row.time});
  return status;
}

}  // namespace exchange
