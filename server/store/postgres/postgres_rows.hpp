#pragma once
// Rows of the exchange to PostgreSQL and back: the text of columns, and the statements that write a
// projection. Thread: that of the connection.

#include <string>
#include <string_view>
#include <vector>

#include "engine/rows.hpp"
#include "journal/journal_row.hpp"
#include "journal/store_errors.hpp"
#include "store/postgres/pqxx_shim.hpp"

namespace exchange {

// PostgreSQL's text form of bytea: "\\x" and two hex digits a byte.
std::string bytea(std::string_view bytes);
// Throws StoreCorrupt.
std::string from_bytea(std::string_view hex);

// Rows of a journal table with batch numbers above `after`, in order, `rows_max` at most.
std::vector<JournalRow> select_journal(pqxx::transaction_base& work, const std::string& table,
                                       BatchNumber after, std::size_t rows_max);

// A row of a result, for read_row() (table_traits.hpp).
struct PostgresRow {
  const pqxx::row& row;
  std::int64_t integer(int column) const { return row[column].as<std::int64_t>(); }
  std::string_view text(int column) const { return row[column].c_str(); }
};

// What the tables have had before a projection.
struct Projected {
  OrderId orders = 0;
  ExecutionId executions = 0;
};

// Gives a store of an earlier format the columns and tables that it lacks, and this format.
void bring_up_tables(pqxx::transaction_base& work);
// Prepares the statements of put_rows().
void prepare_put_rows(pqxx::connection& connection);
// Writes all rows, also those that the tables have already.
void put_rows(pqxx::transaction_base& work, const Rows& rows, const Projected& before);

}  // namespace exchange
