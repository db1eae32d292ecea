#pragma once
// Reads rows of the tables from a Source without trusting them. Used by all checks of the audit. No
// state.

#include "engine/rows.hpp"
#include "tools/audit/source.hpp"

namespace exchange::audit {

// The table of one type of engine/rows.hpp: AccountRow, AccountKeyRow, SymbolRow, PositionRow,
// OrderRow, ReferenceRow or ExecutionRow.
template <class Row>
struct Table {
  static const char* name();  // "orders"
  // `rest`: WHERE, ORDER BY. Stores of servers from before account keys or order references lack
  // their tables: no rows then.
  static std::unique_ptr<RowStream> select(Source& source, const std::string& rest = {});
  // Throws BadValue, with the column, for a value that no server can have written there.
  static Row read(const RowStream& row);
  // "orders 17".
  static std::string row_name(const Row& row);
  // The differing columns in words, "open_e8 is 5, should be 7"; empty if the rows are equal.
  static std::string difference(const Row& stored, const Row& expected);
};

// "WHERE id IN (1,2)", of the keys of a map from `first` to `last`.
template <class Entry>
std::string where_id_in(Entry first, Entry last) {
  std::string ids;
  for (; first != last; ++first) ids += (ids.empty() ? "" : ",") + std::to_string(first->first);
  return "WHERE id IN (" + ids + ") ";
}

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
