#pragma once
// Reads rows of the tables from a Source without trusting them. Used by all checks of the audit.
// Each read_... function reads the columns that its select_... lists, and throws BadValue, with the
// column, for a value that no server can have written there. No state.

#include "engine/rows.hpp"
#include "tools/audit/source.hpp"

namespace exchange::audit {

inline constexpr const char* select_accounts =
    "SELECT number, id, CAST(balance_e16 AS TEXT) FROM accounts ORDER BY number";
inline constexpr const char* select_symbols =
    "SELECT number, name, shares_total_e8 FROM symbols ORDER BY number";
inline constexpr const char* select_positions = "SELECT account, symbol, shares_e8 FROM positions";
// Stores of servers from before account keys lack the table: selects no rows then.
std::string select_account_keys(Source& source);
// To be followed by WHERE and ORDER BY.
inline constexpr const char* select_orders =
    "SELECT id, account, symbol, CAST(is_buy AS INTEGER) AS is_buy, shares_e8, limit_e8, open_e8, canceled_e8, opened_at_us, canceled_at_us FROM orders";
inline constexpr const char* select_executions =
    "SELECT id, symbol, buy_order, sell_order, shares_e8, price_e8, time_us FROM executions";

AccountRow read_account(const RowStream& row);
AccountKeyRow read_account_key(const RowStream& row);
SymbolRow read_symbol(const RowStream& row);
PositionRow read_position(const RowStream& row);
OrderRow read_order(const RowStream& row);
ExecutionRow read_execution(const RowStream& row);

struct Projection {
  BatchNumber batch = 0;
  Totals totals;
};
// The row of table projection. Throws BadValue, also if there is not exactly one.
Projection read_projection(Source& source);

// "orders 17".
std::string row_name(const char* table, std::uint64_t key);
std::string row_name(const PositionRow& row);

// The differing columns in words, "open_e8 is 5, should be 7"; empty if the rows are equal.
std::string difference(const AccountRow& stored, const AccountRow& expected);
std::string difference(const AccountKeyRow& stored, const AccountKeyRow& expected);
std::string difference(const SymbolRow& stored, const SymbolRow& expected);
std::string difference(const PositionRow& stored, const PositionRow& expected);
std::string difference(const OrderRow& stored, const OrderRow& expected);
std::string difference(const ExecutionRow& stored, const ExecutionRow& expected);
std::string difference(const Totals& stored, const Totals& expected);

}  // namespace exchange::audit
