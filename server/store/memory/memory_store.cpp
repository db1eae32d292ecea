#include "store/memory/memory_store.hpp"

#include <algorithm>
#include <map>
#include <ranges>

#include "engine/references.hpp"

namespace exchange {

void MemoryStore::open() {
  journal_.with([](KeptJournal& journal) { ++journal.epoch; });
}

TablesImage MemoryStore::load() {
  return tables_.with([](KeptTables& tables) {
    TablesImage image;
    for_each_member<Rows>([&](auto of_table) {
      using Row = RowIn<decltype(of_table)>;
      if constexpr (TableTraits<Row>::at_start != nullptr)
        for (const auto& [key, row] : tables.table<Row>())
          (image.rows.*of_table.pointer).push_back(row);
    });
    Table<OrderRow>& orders = tables.table<OrderRow>();
    for (const auto& [id, row] : orders)
      if (row.is_open()) image.rows.orders.push_back(row);
    std::sort(image.rows.orders.begin(), image.rows.orders.end(),
              [](const OrderRow& a, const OrderRow& b) { return a.place < b.place; });
    for (const auto& [id, row] : tables.table<ExecutionRow>())
      if (orders.at(row.buy_order).is_open() || orders.at(row.sell_order).is_open())
        image.rows.executions.push_back(row);
    std::vector<ReferenceRow>& references = image.rows.references;
    std::map<AccountNumber, std::size_t> read;  // newest first
    for (const auto& [order, row] : tables.table<ReferenceRow>() | std::views::reverse)
      if (++read[row.account] <= References::kept_max) references.push_back(row);
    std::ranges::reverse(references);
    image.rows.totals = tables.totals;
    image.projected_batch = tables.projected_batch;
    return image;
  });
}

std::vector<ExecutionRow> MemoryStore::newest_executions(std::size_t count) {
  return tables_.with([&](KeptTables& tables) {
    std::vector<ExecutionRow> rows;
    const Table<ExecutionRow>& all = tables.table<ExecutionRow>();
    const std::size_t skipped = all.size() - std::min(count, all.size());
    for (auto row = std::next(all.begin(), std::ptrdiff_t(skipped)); row != all.end(); ++row)
      rows.push_back(row->second);
    return rows;
  });
}

void MemoryStore::read_trades(ExecutionId after,
                              const std::function<void(const Leaderboard::Trade&)>& visit) {
  tables_.with([&](KeptTables& tables) {
    const Table<OrderRow>& orders = tables.table<OrderRow>();
    const Table<ExecutionRow>& all = tables.table<ExecutionRow>();
    for (auto at = all.upper_bound(after); at != all.end(); ++at) {
      const ExecutionRow& row = at->second;
      visit({row.id, row.symbol, orders.at(row.buy_order).account,
             orders.at(row.sell_order).account, row.shares, row.price, row.time});
    }
  });
}

void MemoryStore::read(BatchNumber after, const Visit& visit) {
  journal_.with([&](KeptJournal& journal) {
    for (auto row = journal.rows.upper_bound(after); row != journal.rows.end(); ++row)
      visit(row->second);
  });
}

void MemoryStore::append(BatchNumber batch, std::string_view payload) {
  journal_.with([&](KeptJournal& journal) {
    const bool fresh =
        journal.rows.emplace(batch, JournalRow{batch, journal.epoch, std::string(payload)}).second;
    if (!fresh)
      throw StoreUnavailable("batch " + std::to_string(batch) + " is in the journal already");
  });
}

bool MemoryStore::resolve_in_doubt(BatchNumber batch) {
  return journal_.with([&](KeptJournal& journal) { return journal.rows.contains(batch); });
}

BatchNumber MemoryStore::projected_batch() {
  return tables_.with([](KeptTables& tables) { return tables.projected_batch; });
}

void MemoryStore::project(const Rows& rows, BatchNumber batch) {
  tables_.with([&](KeptTables& tables) {
    for (const ExecutionRow& row : rows.executions) {
      if (tables.table<ExecutionRow>().contains(row.id)) continue;
      tables.executions_of.emplace(row.buy_order, row.id);
      tables.executions_of.emplace(row.sell_order, row.id);
    }
    for_each_member<Rows>([&](auto of_table) {
      using Row = RowIn<decltype(of_table)>;
      for (const Row& row : rows.*of_table.pointer) {
        const auto [at, is_new] =
            tables.table<Row>().try_emplace(TableTraits<Row>::key_of(row), row);
        if (!is_new && !TableTraits<Row>::changing.empty()) at->second = row;
      }
    });
    tables.totals = rows.totals;
    tables.projected_batch = batch;
  });
}

void MemoryStore::prune(BatchNumber through) {
  journal_.with([&](KeptJournal& journal) {
    journal.rows.erase(journal.rows.begin(), journal.rows.upper_bound(through));
  });
}

std::optional<StoredOrder> MemoryStore::read_order(OrderId order, const ExecutionRange& range) {
  return tables_.with([&](KeptTables& tables) -> std::optional<StoredOrder> {
    const auto row = tables.table<OrderRow>().find(order);
    if (row == tables.table<OrderRow>().end()) return {};
    StoredOrder stored{row->second, {}};
    const auto [first, last] = tables.executions_of.equal_range(order);
    if (range.count == 0) return stored;
    const auto total = std::uint64_t(std::distance(first, last));
    stored.executions_total = total;
    auto entry = std::next(first, std::ptrdiff_t(range.begin(total)));
    for (std::uint64_t at = range.begin(total); at < range.end(total); ++at, ++entry) {
      const ExecutionRow& execution = tables.table<ExecutionRow>().at(entry->second);
      stored.executions.push_back({execution.shares, execution.price, execution.time});
    }
    return stored;
  });
}

std::vector<EventRow> MemoryStore::read_events(AccountNumber account, EventNumber first,
                                               EventNumber last) {
  return tables_.with([&](KeptTables& tables) {
    std::vector<EventRow> events;
    const auto key = [&](EventNumber number) {
      return TableTraits<EventRow>::key_of({.account = account, .number = number});
    };
    const Table<EventRow>& all = tables.table<EventRow>();
    const Table<ReferenceRow>& references = tables.table<ReferenceRow>();
    for (auto row = all.lower_bound(key(first)); row != all.upper_bound(key(last)); ++row) {
      EventRow& event = events.emplace_back(row->second);
      const auto reference = references.find(event.order);
      if (reference != references.end()) event.reference = reference->second.reference;
    }
    return events;
  });
}

Fills MemoryStore::read_fills(const FillRange& range) {
  return tables_.with([&](KeptTables& tables) {
    Fills fills{{}, tables.totals.executions};
    const Table<OrderRow>& orders = tables.table<OrderRow>();
    const Table<ReferenceRow>& references = tables.table<ReferenceRow>();
    const Table<ExecutionRow>& all = tables.table<ExecutionRow>();
    const auto reference_of = [&](OrderId order) {
      const auto found = references.find(order);
      return found == references.end() ? std::nullopt : std::optional(found->second.reference);
    };
    std::size_t found = 0;
    // returns false after the last execution
    const auto visit = [&](const ExecutionRow& row) {
      const AccountNumber buyer = orders.at(row.buy_order).account,
                          seller = orders.at(row.sell_order).account;
      if (buyer != range.account && seller != range.account) return true;
      add_fills(fills.list,
                {row, {buyer, seller}, {reference_of(row.buy_order), reference_of(row.sell_order)}},
                range.account);
      return ++found < range.executions_max;
    };
    const auto first = all.upper_bound(range.after), last = all.upper_bound(range.through);
    if (range.executions_max == 0 || range.after >= range.through) return fills;
    if (range.newest_first)
      for (auto at = last; at != first && visit(std::prev(at)->second);) --at;
    else
      for (auto at = first; at != last && visit(at->second);) ++at;
    return fills;
  });
}

}  // namespace exchange
