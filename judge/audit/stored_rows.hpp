#pragma once
// Reads rows of the tables from a Source without trusting them. Used by all checks of the audit. No
// state.

#include <functional>
#include <utility>

#include "judge/audit/source.hpp"
#include "store/tables.hpp"

namespace exchange::audit {

// The table of one type of engine/rows.hpp: AccountRow, AccountKeyRow, SymbolRow, PositionRow,
// OrderRow, ReplacementRow, ReferenceRow or ExecutionRow.
template <class Row>
struct Table {
  static constexpr const char* name() { return TableTraits<Row>::name; }  // "orders"
  // `rest`: WHERE, ORDER BY; `more`: expressions whose values follow the columns of the row.
  static std::unique_ptr<RowStream> select(Source& source, const std::string& rest = {},
                                           const std::string& more = {});
  // Throws BadValue, with the column, for a value that no server can have written there. What no
  // column holds is left out: the place of an order, the taker of an execution.
  static Row read(const RowStream& row);
  // "orders 17".
  static std::string row_name(const Row& row);
  // The differing columns in words, "open_e8 is 5, should be 7"; empty if the rows are equal.
  static std::string difference(const Row& stored, const Row& expected);
};

// "WHERE id IN (1,2) ", of the keys of a map from `first` to `last`.
template <class Entry>
std::string where_in(const char* column, Entry first, Entry last) {
  std::string ids;
  for (; first != last; ++first) ids += (ids.empty() ? "" : ",") + std::to_string(first->first);
  return std::string("WHERE ") + column + " IN (" + ids + ") ";
}

// The rows of a query, one after the other. Leaves out each row with a value that no server can
// have written, and passes it to `unreadable`.
template <class Row>
class RowCursor {
 public:
  using Unreadable = std::function<void(const RowStream&, const BadValue&)>;
  explicit RowCursor(std::unique_ptr<RowStream> rows, Unreadable unreadable = {})
      : rows_(std::move(rows)), unreadable_(std::move(unreadable)) {
    advance();
  }
  const Row* row() const { return there_ ? &row_ : nullptr; }  // nullptr: at the end
  // The first expression of `more` in the select.
  std::int64_t more() const { return rows_->integer(int(columns<Row>)); }
  void advance() {
    while ((there_ = rows_->next())) try {
        row_ = Table<Row>::read(*rows_);
        return;
      } catch (const BadValue& error) {
        if (unreadable_) unreadable_(*rows_, error);
      }
  }

 private:
  std::unique_ptr<RowStream> rows_;
  const Unreadable unreadable_;
  Row row_{};
  bool there_ = false;
};

struct Projection {
  BatchNumber batch = 0;
  Totals totals;
};
// The row of table projection. Throws BadValue, also if there is not exactly one.
Projection read_projection(Source& source);

std::string row_name(const char* table, std::uint64_t key);
template <class Row>
std::string row_name(const Row& row) {
  return Table<Row>::row_name(row);
}
template <class Row>
std::string difference(const Row& stored, const Row& expected) {
  return Table<Row>::difference(stored, expected);
}
std::string difference(const Totals& stored, const Totals& expected);

}  // namespace exchange::audit
