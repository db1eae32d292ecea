#include "audit/table_compare.hpp"

namespace exchange::audit {
namespace {

constexpr std::size_t orders_at_once = 1'000;

std::uint64_t position_key(const PositionRow& row) { return std::uint64_t(row.account) << 32 | row.symbol; }

// Rows come in the order of their creation but for positions: the newest value wins.
template <class Row>
void put(std::vector<Row>& rows, const Row& row) {
  if (row.number >= rows.size()) rows.resize(row.number + 1);
  rows[row.number] = row;
}

}  // namespace

TableCompare::TableCompare(Source& source, Findings& findings)
    : source_(source), findings_(findings), executions_(source.tables(std::string(select_executions) + " ORDER BY id")) {
  execution_there_ = executions_->next();
}

void TableCompare::fold(const Rows& rows) {
  for (const AccountRow& row : rows.accounts) put(accounts_, row);
  for (const AccountKeyRow& row : rows.account_keys) account_keys_[row.account] = row;
  for (const SymbolRow& row : rows.symbols) put(symbols_, row);
  for (const PositionRow& row : rows.positions) positions_[position_key(row)] = row;
  for (const OrderRow& row : rows.orders) {
    if (row.is_open()) {
      open_[row.id] = row;
      continue;
    }
    open_.erase(row.id);
    due_[row.id] = row;
  }
  if (due_.size() >= orders_at_once) compare_orders();
  for (const ExecutionRow& row : rows.executions) compare_execution(row);
}

void TableCompare::finish(const Totals& stored, const Totals& replayed) {
  due_.merge(open_);
  compare_orders();
  for (; execution_there_; execution_there_ = executions_->next()) surplus("executions " + std::to_string(executions_->integer(0)));

  std::size_t accounts = 0, symbols = 0;
  for (const auto rows = source_.tables(select_accounts); rows->next(); ++accounts) {
    const AccountRow stored_row = read_account(*rows);
    if (stored_row.number >= accounts_.size())
      surplus(row_name("accounts", stored_row.number));
    else
      expect_equal(row_name("accounts", stored_row.number), stored_row, accounts_[stored_row.number]);
  }
  if (accounts < accounts_.size()) missing(row_name("accounts", accounts_.size() - 1));
  for (const auto rows = source_.tables(select_account_keys(source_)); rows->next();) {
    const AccountKeyRow stored_row = read_account_key(*rows);
    const auto expected = account_keys_.extract(stored_row.account);
    if (expected.empty())
      surplus(row_name("account_keys", stored_row.account));
    else
      expect_equal(row_name("account_keys", stored_row.account), stored_row, expected.mapped());
  }
  for (const auto& [account, row] : account_keys_) missing(row_name("account_keys", account));
  for (const auto rows = source_.tables(select_symbols); rows->next(); ++symbols) {
    const SymbolRow stored_row = read_symbol(*rows);
    if (stored_row.number >= symbols_.size())
      surplus(row_name("symbols", stored_row.number));
    else
      expect_equal(row_name("symbols", stored_row.number), stored_row, symbols_[stored_row.number]);
  }
  if (symbols < symbols_.size()) missing(row_name("symbols", symbols_.size() - 1));
  for (const auto rows = source_.tables(select_positions); rows->next();) {
    const PositionRow stored_row = read_position(*rows);
    const auto expected = positions_.find(position_key(stored_row));
    if (expected == positions_.end()) {
      surplus(row_name(stored_row));
      continue;
    }
    expect_equal(row_name(stored_row), stored_row, expected->second);
    positions_.erase(expected);
  }
  for (const auto& [key, row] : positions_) missing(row_name(row));
  expect_equal("projection", stored, replayed);
  findings_.count("rows compared with the replay", compared_);
}

template <class Row>
void TableCompare::expect_equal(const std::string& name, const Row& stored, const Row& expected) {
  ++compared_;
  if (const std::string found = difference(stored, expected); !found.empty()) findings_.violation("replay", name, found);
}

// Both come by id.
void TableCompare::compare_execution(const ExecutionRow& expected) {
  for (; execution_there_; execution_there_ = executions_->next()) {
    const ExecutionRow stored = read_execution(*executions_);
    if (stored.id > expected.id) break;
    if (stored.id == expected.id) {
      expect_equal(row_name("executions", stored.id), stored, expected);
      execution_there_ = executions_->next();
      return;
    }
    surplus(row_name("executions", stored.id));
  }
  missing(row_name("executions", expected.id));
}

// Orders with ids that nobody was given are found where the tables are checked by themselves.
void TableCompare::compare_orders() {
  while (!due_.empty()) {
    std::string ids;
    std::map<OrderId, OrderRow> some;
    while (!due_.empty() && some.size() < orders_at_once) {
      ids += (ids.empty() ? "" : ",") + std::to_string(due_.begin()->first);
      some.insert(due_.extract(due_.begin()));
    }
    for (const auto rows = source_.tables(std::string(select_orders) + " WHERE id IN (" + ids + ") ORDER BY id"); rows->next();) {
      const OrderRow stored = read_order(*rows);
      expect_equal(row_name("orders", stored.id), stored, some.at(stored.id));
      some.erase(stored.id);
    }
    for (const auto& [id, row] : some) missing(row_name("orders", id));
  }
}

}  // namespace exchange::audit
