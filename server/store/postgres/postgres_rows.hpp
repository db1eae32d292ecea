#pragma once
// Converts rows of the exchange to PostgreSQL and back: the text of columns, and the statements
// that write a projection. Thread: that of the connection.

#include <string>
#include <string_view>
#include <vector>

#include "engine/rows.hpp"
#include "journal/journal_row.hpp"
#include "journal/store_errors.hpp"
#include "store/postgres/pqxx_shim.hpp"

namespace exchange {

// Returns PostgreSQL's text form of bytea: "\\x" and two hex digits for each byte.
std::string bytea(std::string_view bytes);
// Converts it back. Throws StoreCorrupt.
std::string from_bytea(std::string_view hex);

// Returns rows of a journal table with batch numbers above `after`, in order, at most `rows_max`.
std::vector<JournalRow> select_journal(pqxx::transaction_base& work, const std::string& table,
                                       BatchNumber after, std::size_t rows_max);

// A row of a result, for read_row() (table_traits.hpp).
struct PostgresRow {
  const pqxx::row& row;
  std::int64_t integer(int column) const { return row[column].as<std::int64_t>(); }
  std::string_view text(int column) const { return row[column].c_str(); }
};

// The newest ids that the tables had before a projection.
struct Projected {
  OrderId orders = 0;
  ExecutionId executions = 0;
};

// Adds missing columns and tables to a store of an earlier format, and sets the current format.
void bring_up_tables(pqxx::transaction_base& work);
// Prepares the statements of put_rows().
void prepare_put_rows(pqxx::connection& connection);
// Writes all rows, including those that the tables have already.
void put_rows(pqxx::transaction_base& work, const Rows& rows, const Projected& before);

}  // namespace exchange
