#include "store/memory/memory_store.hpp"

#include <algorithm>

namespace exchange {

void MemoryStore::open() {
  journal_.with([](Journal& journal) { ++journal.epoch; });
}

TablesImage MemoryStore::load() {
  return tables_.with([](Tables& tables) {
    TablesImage image;
    for (const auto& [number, row] : tables.accounts) image.rows.accounts.push_back(row);
    for (const auto& [number, row] : tables.account_keys) image.rows.account_keys.push_back(row);
    for (const auto& [number, row] : tables.account_rules) image.rows.account_rules.push_back(row);
    for (const auto& [number, row] : tables.symbols) image.rows.symbols.push_back(row);
    for (const auto& [key, row] : tables.positions) image.rows.positions.push_back(row);
    for (const auto& [id, row] : tables.orders)
      if (row.is_open()) image.rows.orders.push_back(row);
    std::sort(image.rows.orders.begin(), image.rows.orders.end(),
              [](const OrderRow& a, const OrderRow& b) { return a.place < b.place; });
    for (const auto& [id, row] : tables.executions)
      if (tables.orders.at(row.buy_order).is_open() || tables.orders.at(row.sell_order).is_open())
        image.rows.executions.push_back(row);
    for (const auto& [id, row] : tables.references) image.rows.references.push_back(row);
    image.rows.totals = tables.totals;
    image.projected_batch = tables.projected_batch;
    return image;
  });
}

std::vector<ExecutionRow> MemoryStore::newest_executions(std::size_t count) {
  return tables_.with([&](Tables& tables) {
    std::vector<ExecutionRow> rows;
    const std::size_t skipped =
        tables.executions.size() - std::min(count, tables.executions.size());
    for (auto row = std::next(tables.executions.begin(), std::ptrdiff_t(skipped));
         row != tables.executions.end(); ++row)
      rows.push_back(row->second);
    return rows;
  });
}

void MemoryStore::read_journal(BatchNumber after,
                               const std::function<void(const JournalRow&)>& visit) {
  journal_.with([&](Journal& journal) {
    for (auto row = journal.rows.upper_bound(after); row != journal.rows.end(); ++row)
      visit(row->second);
  });
}

void MemoryStore::append(BatchNumber batch, std::string_view payload) {
  journal_.with([&](Journal& journal) {
    const bool fresh =
        journal.rows.emplace(batch, JournalRow{batch, journal.epoch, std::string(payload)}).second;
    if (!fresh)
      throw StoreUnavailable("batch " + std::to_string(batch) + " is in the journal already");
  });
}

bool MemoryStore::resolve_in_doubt(BatchNumber batch) {
  return journal_.with([&](Journal& journal) { return journal.rows.contains(batch); });
}

void MemoryStore::project(const Rows& rows, BatchNumber batch) {
  tables_.with([&](Tables& tables) {
    for (const AccountRow& row : rows.accounts) tables.accounts[row.number] = row;
    for (const AccountKeyRow& row : rows.account_keys) tables.account_keys[row.account] = row;
    for (const AccountRulesRow& row : rows.account_rules) tables.account_rules[row.account] = row;
    for (const SymbolRow& row : rows.symbols) tables.symbols[row.number] = row;
    for (const PositionRow& row : rows.positions) tables.positions[{row.account, row.symbol}] = row;
    for (const OrderRow& row : rows.orders) tables.orders[row.id] = row;
    for (const ReferenceRow& row : rows.references) tables.references.emplace(row.order, row);
    for (const ExecutionRow& row : rows.executions) {
      if (!tables.executions.emplace(row.id, row).second) continue;
      tables.executions_of.emplace(row.buy_order, row.id);
      tables.executions_of.emplace(row.sell_order, row.id);
    }
    for (const EventRow& row : rows.events)
      tables.events.emplace(std::pair(row.account, row.number), row);
    tables.totals = rows.totals;
    tables.projected_batch = batch;
  });
}

void MemoryStore::prune(BatchNumber through) {
  journal_.with([&](Journal& journal) {
    journal.rows.erase(journal.rows.begin(), journal.rows.upper_bound(through));
  });
}

std::optional<StoredOrder> MemoryStore::read_order(OrderId order, const ExecutionRange& range) {
  return tables_.with([&](Tables& tables) -> std::optional<StoredOrder> {
    const auto row = tables.orders.find(order);
    if (row == tables.orders.end()) return {};
    StoredOrder stored{row->second, {}};
    const auto [first, last] = tables.executions_of.equal_range(order);
    if (range.count == 0) return stored;
    const auto total = std::uint64_t(std::distance(first, last));
    stored.executions_total = total;
    auto entry = std::next(first, std::ptrdiff_t(range.begin(total)));
    for (std::uint64_t at = range.begin(total); at < range.end(total); ++at, ++entry) {
      const ExecutionRow& execution = tables.executions.at(entry->second);
      stored.executions.push_back({execution.shares, execution.price, execution.time});
    }
    return stored;
  });
}

std::vector<EventRow> MemoryStore::read_events(AccountNumber account, EventNumber first,
                                               EventNumber last) {
  return tables_.with([&](Tables& tables) {
    std::vector<EventRow> events;
    for (auto row = tables.events.lower_bound({account, first});
         row != tables.events.end() && row->first <= std::pair(account, last); ++row) {
      EventRow& event = events.emplace_back(row->second);
      const auto reference = tables.references.find(event.order);
      if (reference != tables.references.end()) event.reference = reference->second.reference;
    }
    return events;
  });
}

}  // namespace exchange
