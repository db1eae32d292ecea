#include "tools/audit/stored_rows.hpp"

#include <limits>

#include "store/stored_text.hpp"

namespace exchange::audit {
namespace {

template <class Number>
Number number_of(const RowStream& row, int column, const char* name) {
  const std::int64_t value = row.integer(column);
  if (value < 0 || std::uint64_t(value) > std::numeric_limits<Number>::max())
    throw BadValue(std::string(name) + " is out of range");
  return Number(value);
}
Shares shares_of(const RowStream& row, int column) {
  return Shares::from_units(row.integer(column));
}
Price price_of(const RowStream& row, int column) { return Price::from_units(row.integer(column)); }
Timestamp time_of(const RowStream& row, int column) { return {row.integer(column)}; }
Cash cash_of(const RowStream& row, int column, const char* name) {
  const auto units = parse_units(row.text(column));
  if (!units) throw BadValue(std::string(name) + " is not an amount of cash");
  return Cash::from_units(units.value);
}

class Differences {
 public:
  template <class Value>
  Differences& compare(const char* column, const Value& stored, const Value& expected) {
    if (text(stored) == text(expected)) return *this;
    if (!all_.empty()) all_ += ", ";
    all_ += std::string(column) + " is " + text(stored) + ", should be " + text(expected);
    return *this;
  }
  std::string all() const { return all_; }

 private:
  static std::string text(std::uint64_t number) { return std::to_string(number); }
  static std::string text(std::uint32_t number) { return std::to_string(number); }
  static std::string text(Shares shares) { return std::to_string(shares.units()); }
  static std::string text(Price price) { return std::to_string(price.units()); }
  static std::string text(Cash cash) { return units_text(cash.units()); }
  static std::string text(Timestamp time) { return std::to_string(time.microseconds); }
  static std::string text(const KeyHash& key) { return key_text(key); }
  static std::string text(Side side) { return side == Side::buy ? "buy" : "sell"; }
  template <std::size_t Max>
  static std::string text(const InlineText<Max>& id) {
    return std::string(id.view());
  }
  std::string all_;
};

}  // namespace

AccountRow read_account(const RowStream& row) {
  const auto id = parse_account_id(row.text(1));
  if (!id) throw BadValue("id is not an account id");
  return {number_of<AccountNumber>(row, 0, "number"), *id, cash_of(row, 2, "balance_e16")};
}

std::string select_account_keys(Source& source) {
  return source.has_table("account_keys")
             ? "SELECT account, key_hash FROM account_keys ORDER BY account"
             : "SELECT 0, '' WHERE 1 = 0";
}

AccountKeyRow read_account_key(const RowStream& row) try {
  return {number_of<AccountNumber>(row, 0, "account"), stored_key(row.text(1))};
} catch (const StoreCorrupt&) {
  throw BadValue("key_hash is not a key hash");
}

SymbolRow read_symbol(const RowStream& row) {
  const auto name = parse_symbol_name(row.text(1));
  if (!name) throw BadValue("name is not a symbol");
  return {number_of<SymbolNumber>(row, 0, "number"), *name, shares_of(row, 2)};
}

PositionRow read_position(const RowStream& row) {
  return {number_of<AccountNumber>(row, 0, "account"), number_of<SymbolNumber>(row, 1, "symbol"),
          shares_of(row, 2)};
}

OrderRow read_order(const RowStream& row) {
  const std::int64_t is_buy = row.integer(3);
  if (is_buy != 0 && is_buy != 1) throw BadValue("is_buy is neither 0 nor 1");
  return {number_of<OrderId>(row, 0, "id"),
          number_of<AccountNumber>(row, 1, "account"),
          number_of<SymbolNumber>(row, 2, "symbol"),
          is_buy == 1 ? Side::buy : Side::sell,
          shares_of(row, 4),
          price_of(row, 5),
          shares_of(row, 6),
          shares_of(row, 7),
          time_of(row, 8),
          time_of(row, 9)};
}

ExecutionRow read_execution(const RowStream& row) {
  return {number_of<ExecutionId>(row, 0, "id"),
          number_of<SymbolNumber>(row, 1, "symbol"),
          number_of<OrderId>(row, 2, "buy_order"),
          number_of<OrderId>(row, 3, "sell_order"),
          shares_of(row, 4),
          price_of(row, 5),
          time_of(row, 6)};
}

Projection read_projection(Source& source) {
  const auto row = source.tables(
      "SELECT batch, orders, executions, CAST(cash_created_e16 AS TEXT), last_time_us, digest FROM projection");
  if (!row->next()) throw BadValue("the row is missing");
  Projection projection{
      number_of<BatchNumber>(*row, 0, "batch"),
      {number_of<OrderId>(*row, 1, "orders"), number_of<ExecutionId>(*row, 2, "executions"),
       cash_of(*row, 3, "cash_created_e16"), time_of(*row, 4), std::uint64_t(row->integer(5))}};
  if (row->next()) throw BadValue("there is more than one row");
  return projection;
}

std::string row_name(const char* table, std::uint64_t key) {
  return std::string(table) + " " + std::to_string(key);
}
std::string row_name(const PositionRow& row) {
  return "positions account " + std::to_string(row.account) + " symbol " +
         std::to_string(row.symbol);
}

std::string difference(const AccountRow& stored, const AccountRow& expected) {
  return Differences()
      .compare("number", stored.number, expected.number)
      .compare("id", stored.id, expected.id)
      .compare("balance_e16", stored.balance, expected.balance)
      .all();
}

std::string difference(const AccountKeyRow& stored, const AccountKeyRow& expected) {
  return Differences().compare("key_hash", stored.key, expected.key).all();
}

std::string difference(const SymbolRow& stored, const SymbolRow& expected) {
  return Differences()
      .compare("number", stored.number, expected.number)
      .compare("name", stored.name, expected.name)
      .compare("shares_total_e8", stored.shares_total, expected.shares_total)
      .all();
}

std::string difference(const PositionRow& stored, const PositionRow& expected) {
  return Differences().compare("shares_e8", stored.shares, expected.shares).all();
}

std::string difference(const OrderRow& stored, const OrderRow& expected) {
  return Differences()
      .compare("id", stored.id, expected.id)
      .compare("account", stored.account, expected.account)
      .compare("symbol", stored.symbol, expected.symbol)
      .compare("is_buy", stored.side, expected.side)
      .compare("shares_e8", stored.shares, expected.shares)
      .compare("limit_e8", stored.limit, expected.limit)
      .compare("open_e8", stored.open, expected.open)
      .compare("canceled_e8", stored.canceled, expected.canceled)
      .compare("opened_at_us", stored.opened_at, expected.opened_at)
      .compare("canceled_at_us", stored.canceled_at, expected.canceled_at)
      .all();
}

std::string difference(const ExecutionRow& stored, const ExecutionRow& expected) {
  return Differences()
      .compare("id", stored.id, expected.id)
      .compare("symbol", stored.symbol, expected.symbol)
      .compare("buy_order", stored.buy_order, expected.buy_order)
      .compare("sell_order", stored.sell_order, expected.sell_order)
      .compare("shares_e8", stored.shares, expected.shares)
      .compare("price_e8", stored.price, expected.price)
      .compare("time_us", stored.time, expected.time)
      .all();
}

std::string difference(const Totals& stored, const Totals& expected) {
  return Differences()
      .compare("orders", stored.orders, expected.orders)
      .compare("executions", stored.executions, expected.executions)
      .compare("cash_created_e16", stored.cash_created, expected.cash_created)
      .compare("last_time_us", stored.last_time, expected.last_time)
      .compare("digest", stored.digest, expected.digest)
      .all();
}

}  // namespace exchange::audit
