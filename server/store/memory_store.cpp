#include "store/memory_store.hpp"

#include <algorithm>

namespace exchange {

void MemoryStore::open() {
  data_.with([](Data& data) { ++data.epoch; });
}

TablesImage MemoryStore::load() {
  return data_.with([](Data& data) {
    TablesImage image;
    for (const auto& [number, row] : data.accounts) image.rows.accounts.push_back(row);
    for (const auto& [number, row] : data.account_keys) image.rows.account_keys.push_back(row);
    for (const auto& [number, row] : data.symbols) image.rows.symbols.push_back(row);
    for (const auto& [key, row] : data.positions) image.rows.positions.push_back(row);
    for (const auto& [id, row] : data.orders)
      if (row.is_open()) image.rows.orders.push_back(row);
    for (const auto& [id, row] : data.executions)
      if (data.orders.at(row.buy_order).is_open() || data.orders.at(row.sell_order).is_open())
        image.rows.executions.push_back(row);
    image.rows.totals = data.totals;
    image.projected_batch = data.projected_batch;
    return image;
  });
}

std::vector<ExecutionRow> MemoryStore::newest_executions(std::size_t count) {
  return data_.with([&](Data& data) {
    std::vector<ExecutionRow> rows;
    const std::size_t skipped = data.executions.size() - std::min(count, data.executions.size());
    for (auto row = std::next(data.executions.begin(), std::ptrdiff_t(skipped));
         row != data.executions.end(); ++row)
      rows.push_back(row->second);
    return rows;
  });
}

void MemoryStore::read_journal(BatchNumber after,
                               const std::function<void(const JournalRow&)>& visit) {
  data_.with([&](Data& data) {
    for (auto row = data.journal.upper_bound(after); row != data.journal.end(); ++row)
      visit(row->second);
  });
}

void MemoryStore::append(BatchNumber batch, std::string_view payload) {
  data_.with([&](Data& data) {
    const bool fresh =
        data.journal.emplace(batch, JournalRow{batch, data.epoch, std::string(payload)}).second;
    if (!fresh)
      throw StoreUnavailable("batch " + std::to_string(batch) + " is in the journal already");
  });
}

bool MemoryStore::resolve_in_doubt(BatchNumber batch) {
  return data_.with([&](Data& data) { return data.journal.contains(batch); });
}

void MemoryStore::project(const Rows& rows, BatchNumber batch) {
  data_.with([&](Data& data) {
    for (const AccountRow& row : rows.accounts) data.accounts[row.number] = row;
    for (const AccountKeyRow& row : rows.account_keys) data.account_keys.emplace(row.account, row);
    for (const SymbolRow& row : rows.symbols) data.symbols[row.number] = row;
    for (const PositionRow& row : rows.positions) data.positions[{row.account, row.symbol}] = row;
    for (const OrderRow& row : rows.orders) data.orders[row.id] = row;
    for (const ExecutionRow& row : rows.executions) {
      if (!data.executions.emplace(row.id, row).second) continue;
      data.executions_of.emplace(row.buy_order, row.id);
      data.executions_of.emplace(row.sell_order, row.id);
    }
    data.totals = rows.totals;
    data.projected_batch = batch;
  });
}

void MemoryStore::prune(BatchNumber through) {
  data_.with([&](Data& data) {
    data.journal.erase(data.journal.begin(), data.journal.upper_bound(through));
  });
}

std::optional<StoredOrder> MemoryStore::read_order(OrderId order) {
  return data_.with([&](Data& data) -> std::optional<StoredOrder> {
    const auto row = data.orders.find(order);
    if (row == data.orders.end()) return {};
    StoredOrder stored{row->second, {}};
    const auto [first, last] = data.executions_of.equal_range(order);
    for (auto entry = first; entry != last; ++entry) {
      const ExecutionRow& execution = data.executions.at(entry->second);
      stored.executions.push_back({execution.shares, execution.price, execution.time});
    }
    return stored;
  });
}

}  // namespace exchange
