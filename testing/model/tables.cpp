#include "model/tables.hpp"

#include <algorithm>

namespace exchange {

void ModelTables::write(const Rows& rows) {
  for (const AccountRow& row : rows.accounts) accounts_[row.number] = row;
  for (const AccountKeyRow& row : rows.account_keys) account_keys_[row.account] = row;
  for (const AccountRulesRow& row : rows.account_rules) account_rules_[row.account] = row;
  for (const SymbolRow& row : rows.symbols) symbols_[row.number] = row;
  for (const PositionRow& row : rows.positions) positions_[{row.account, row.symbol}] = row;
  for (const OrderRow& row : rows.orders) orders_[row.id] = row;
  for (const ExecutionRow& row : rows.executions) executions_[row.id] = row;
  for (const ReferenceRow& row : rows.references) references_[row.order] = row;
  for (const ReplacementRow& row : rows.replacements) replacements_[row.number] = row;
  for (const EventRow& row : rows.events) events_[{row.account, row.number}] = row;
  for (const RoundRow& row : rows.rounds) rounds_[row.number] = row;
  totals_ = rows.totals;
}

OrderId ModelTables::place(OrderId order, ExecutionId executions) const {
  OrderId place = order;
  for (const auto& [number, row] : replacements_)
    if (row.order == order && !row.keeps_place && row.executions_before <= executions)
      place = number;
  return place;
}

Rows ModelTables::image() const {
  Rows image;
  for (const auto& [key, row] : accounts_) image.accounts.push_back(row);
  for (const auto& [key, row] : account_keys_) image.account_keys.push_back(row);
  for (const auto& [key, row] : account_rules_) image.account_rules.push_back(row);
  for (const auto& [key, row] : symbols_) image.symbols.push_back(row);
  for (const auto& [key, row] : positions_) image.positions.push_back(row);
  for (const auto& [key, row] : orders_)
    if (row.is_open()) image.orders.push_back(*order(row.id));
  std::sort(image.orders.begin(), image.orders.end(),
            [](const OrderRow& a, const OrderRow& b) { return a.place < b.place; });
  for (const auto& [key, row] : executions_)
    if (orders_.at(row.buy_order).is_open() || orders_.at(row.sell_order).is_open()) {
      ExecutionRow& execution = image.executions.emplace_back(row);
      const bool buys = place(row.buy_order, row.id - 1) > place(row.sell_order, row.id - 1);
      execution.taker = buys ? Side::buy : Side::sell;
    }
  for (const auto& [key, row] : references_) image.references.push_back(row);
  for (const auto& [key, row] : rounds_) image.rounds.push_back(row);
  image.totals = totals_;
  return image;
}

std::optional<OrderRow> ModelTables::order(OrderId order) const {
  const auto found = orders_.find(order);
  if (found == orders_.end()) return {};
  OrderRow row = found->second;
  row.place = place(order, totals_.executions);
  return row;
}

std::optional<ReplacementRow> ModelTables::replacement(OrderId number) const {
  const auto row = replacements_.find(number);
  return row == replacements_.end() ? std::nullopt : std::optional(row->second);
}

std::vector<Execution> ModelTables::executions_of(OrderId order) const {
  std::vector<Execution> executions;
  for (const auto& [key, row] : executions_)
    if (row.buy_order == order || row.sell_order == order)
      executions.push_back({row.shares, row.price, row.time});
  return executions;
}

std::vector<EventRow> ModelTables::events(AccountNumber account, EventNumber first,
                                          EventNumber last) const {
  std::vector<EventRow> events;
  for (auto row = events_.lower_bound({account, first});
       row != events_.end() && row->first <= std::pair(account, last); ++row)
    events.push_back(row->second);
  return events;
}

Outcome ModelTables::answer(const Command& command, const NotInMemory& forgotten) const {
  const auto order = orders_.find(forgotten.order);
  if (order == orders_.end()) return Rejected{Reason::unknown_order};
  const OrderRow& row = order->second;
  const auto* query = std::get_if<QueryOrder>(&command);
  if (row.account != forgotten.account) return Rejected{Reason::unknown_order};
  if (query == nullptr) return Rejected{Reason::nothing_open};
  Status status{row.id, row.open, row.canceled, row.canceled_at, executions_of(row.id)};
  const auto first = status.executions.begin();
  status.skipped = std::min<std::uint64_t>(query->from - 1, status.executions.size());
  status.executions.erase(first, first + std::ptrdiff_t(status.skipped));
  return status;
}

}  // namespace exchange
