#pragma once
// Rows of the exchange to PostgreSQL and back: the text of columns, and the statements that write a
// projection. Thread: that of the connection.

#include "engine/rows.hpp"
#include "store/postgres/pqxx_shim.hpp"
#include "store/store.hpp"

namespace exchange {

// PostgreSQL's text form of bytea: "\\x" and two hex digits a byte.
std::string bytea(std::string_view bytes);
// Throws StoreCorrupt.
std::string from_bytea(std::string_view hex);

Cash cash(const pqxx::field& field);
Shares shares(const pqxx::field& field);
Price price(const pqxx::field& field);
Timestamp timestamp(const pqxx::field& field);

// What order_row() reads, of `orders o`.
extern const std::string order_columns;
OrderRow order_row(const pqxx::row& row);
// Reads execution_columns (stored_text.hpp).
ExecutionRow execution_row(const pqxx::row& row);

// What the tables have had before a projection.
struct Projected {
  OrderId orders = 0;
  ExecutionId executions = 0;
};

// Prepares the statements of put_rows().
void prepare_put_rows(pqxx::connection& connection);
// Writes all rows, also those that the tables have already.
void put_rows(pqxx::transaction_base& work, const Rows& rows, const Projected& before);

}  // namespace exchange
