#include "judge/audit/table_compare.hpp"

namespace exchange::audit {
namespace {

constexpr std::size_t orders_at_once = 1'000;

template <class Row>
std::uint64_t key(const Row& row) {
  return TableTraits<Row>::key_of(row);
}

}  // namespace

TableCompare::TableCompare(Source& source, Findings& findings)
    : source_(source),
      findings_(findings),
      executions_(Table<ExecutionRow>::select(source, "ORDER BY id")),
      replacements_(Table<ReplacementRow>::select(source, "ORDER BY number")) {}

void TableCompare::apply(const Rows& rows) {
  for (const AccountRow& row : rows.accounts) accounts_[row.number] = row;
  for (const AccountKeyRow& row : rows.account_keys) account_keys_[row.account] = row;
  for (const SymbolRow& row : rows.symbols) symbols_[row.number] = row;
  for (const PositionRow& row : rows.positions) positions_[key(row)] = row;
  for (const ReferenceRow& row : rows.references) references_[row.order] = row;
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

  compare_table("ORDER BY number", accounts_);
  compare_table("ORDER BY account", account_keys_);
  compare_table("ORDER BY number", symbols_);
  compare_table("", positions_);
  compare_table("", references_);
  expect_equal("projection", stored, replayed);
  findings_.count("rows compared with the replay", compared_);
}

template <class Row>
void TableCompare::compare_table(const char* order,
                                 std::unordered_map<std::uint64_t, Row>& expected) {
  for (const auto rows = Table<Row>::select(source_, order); rows->next();) {
    const Row stored = Table<Row>::read(*rows);
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

// Orders with ids that were never given are found by check_tables().
void TableCompare::compare_orders() {
  while (!due_.empty()) {
    std::map<OrderId, OrderRow> some;
    while (!due_.empty() && some.size() < orders_at_once) some.insert(due_.extract(due_.begin()));
    for (const auto rows = Table<OrderRow>::select(
             source_, where_in("id", some.begin(), some.end()) + "ORDER BY id");
         rows->next();) {
      const OrderRow stored = Table<OrderRow>::read(*rows);
      expect_equal(row_name(stored), stored, some.at(stored.id));
      some.erase(stored.id);
    }
    for (const auto& [id, row] : some) missing(row_name(row));
  }
}

}  // namespace exchange::audit
