#include "audit/table_compare.hpp"

namespace exchange::audit {

TableCompare::TableCompare(Source& source, Findings& findings)
    : source_(source),
      findings_(findings),
      executions_(select_rows<ExecutionRow>(source, "ORDER BY id")),
      replacements_(select_rows<ReplacementRow>(source, "ORDER BY number")) {}

void TableCompare::apply(const Rows& rows) {
  for_each_kept([&](auto& kept, auto member) {
    for (const auto& row : rows.*member.pointer) kept[key(row)] = row;
  });
  for (const OrderRow& row : rows.orders) {
    if (row.is_open()) {
      open_[row.id] = row;
      continue;
    }
    open_.erase(row.id);
    due_[row.id] = row;
  }
  if (due_.size() >= orders_at_once) compare_orders();
  for (const ExecutionRow& row : rows.executions) compare_next(executions_, row);
  for (const ReplacementRow& row : rows.replacements) compare_next(replacements_, row);
}

void TableCompare::finish(const Totals& stored, const Totals& replayed) {
  due_.merge(open_);
  compare_orders();
  report_rest(executions_);
  report_rest(replacements_);

  for_each_kept([&](auto& kept, auto) { compare_table(kept); });
  expect_equal("projection", stored, replayed);
  findings_.count("rows compared with the replay", compared_);
}

template <class Row>
void TableCompare::compare_table(ByKey<Row>& expected) {
  const std::string order = std::string("ORDER BY ") + TableTraits<Row>::key;
  for (const auto rows = select_rows<Row>(source_, order); rows->next();) {
    const Row stored = read_stored<Row>(*rows);
    const auto found = expected.extract(key(stored));
    if (found.empty())
      surplus(row_name(stored));
    else
      expect_equal(row_name(stored), stored, found.mapped());
  }
  std::map<std::uint64_t, Row> rest(expected.begin(), expected.end());  // in order
  for (const auto& [number, row] : rest) missing(row_name(row));
}

template <class Row>
void TableCompare::expect_equal(const std::string& name, const Row& stored, const Row& expected) {
  ++compared_;
  if (const std::string found = difference(stored, expected); !found.empty())
    findings_.violation("replay", name, found);
}

template <class Row>
void TableCompare::compare_next(RowCursor<Row>& stored, const Row& expected) {
  for (; stored.row() != nullptr && key(*stored.row()) <= key(expected); stored.advance()) {
    if (key(*stored.row()) < key(expected)) {
      surplus(row_name(*stored.row()));
      continue;
    }
    expect_equal(row_name(expected), *stored.row(), expected);
    return stored.advance();
  }
  missing(row_name(expected));
}

template <class Row>
void TableCompare::report_rest(RowCursor<Row>& stored) {
  for (; stored.row() != nullptr; stored.advance()) surplus(row_name(*stored.row()));
}

// check_tables() finds orders whose ids were never given.
void TableCompare::compare_orders() {
  while (!due_.empty()) {
    std::map<OrderId, OrderRow> some;
    while (!due_.empty() && some.size() < orders_at_once) some.insert(due_.extract(due_.begin()));
    for (const auto rows = select_rows<OrderRow>(
             source_, where_in("id", some.begin(), some.end()) + "ORDER BY id");
         rows->next();) {
      const OrderRow stored = read_stored<OrderRow>(*rows);
      expect_equal(row_name(stored), stored, some.at(stored.id));
      some.erase(stored.id);
    }
    for (const auto& [id, row] : some) missing(row_name(row));
  }
}

}  // namespace exchange::audit
