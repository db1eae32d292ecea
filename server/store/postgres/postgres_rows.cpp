#include "store/postgres/postgres_rows.hpp"

#include <array>
#include <boost/algorithm/hex.hpp>
#include <iterator>
#include <tuple>

#include "base/bursts.hpp"
#include "base/fail_point.hpp"
#include "store/stored_text.hpp"

namespace exchange {
namespace {

// An array in PostgreSQL's text form, "{1,2,3}": a whole column as one parameter, for unnest().
class ArrayText {
 public:
  ArrayText& operator<<(std::string_view number) {
    (text_ += separator()) += number;
    return *this;
  }
  ArrayText& operator<<(std::int64_t number) {
    return *this << std::string_view(std::to_string(number));
  }
  ArrayText& operator<<(std::uint64_t number) { return *this << std::int64_t(number); }
  ArrayText& operator<<(std::uint32_t number) { return *this << std::int64_t(number); }
  ArrayText& operator<<(bool value) { return *this << std::string_view(value ? "t" : "f"); }
  // In quotes, since a symbol may be named NULL. Ids have letters and digits only: nothing to
  // escape.
  ArrayText& quoted(std::string_view id) {
    ((text_ += separator()) += '"') += id;
    text_ += '"';
    return *this;
  }
  std::string finish() { return text_ += (text_.empty() ? "{}" : "}"); }

 private:
  char separator() const { return text_.empty() ? '{' : ','; }
  std::string text_;
};

// Writes all rows of a table with one prepared statement: each column is one array parameter.
// `add(columns, row)` appends a row to the arrays.
template <std::size_t column_count, class Row, class Add>
void put(pqxx::transaction_base& work, const char* statement, const std::vector<Row>& rows,
         Add add) {
  if (rows.empty()) return;
  std::array<ArrayText, column_count> columns;
  Bursts::each(rows, [&](const Row& row) { add(columns, row); });
  std::apply([&](auto&... column) { work.exec_prepared(statement, column.finish()...); }, columns);
}

// COPY of new rows: a third of the time of an INSERT that looks for conflicts. Starts with the
// first row.
class Copy {
 public:
  Copy(pqxx::transaction_base& work, const char* table) : work_(work), table_(table) {}
  template <class... Column>
  void add(Column... columns) {
    if (!stream_) stream_ = copy_into(work_, table_);
    *stream_ << std::array<std::int64_t, sizeof...(Column)>{std::int64_t(columns)...};
    Bursts::rest_if_due();
  }
  void complete() {
    if (stream_) stream_->complete();
  }

 private:
  pqxx::transaction_base& work_;
  const std::string table_;
  std::unique_ptr<pqxx::stream_to> stream_;
};

}  // namespace

std::string bytea(std::string_view bytes) {
  std::string hex = "\\x";
  hex.reserve(2 + 2 * bytes.size());
  boost::algorithm::hex_lower(bytes.begin(), bytes.end(), std::back_inserter(hex));
  return hex;
}

std::string from_bytea(std::string_view hex) {
  std::string bytes;
  if (!hex.starts_with("\\x")) throw StoreCorrupt("journal: the payload is not in hex format");
  boost::algorithm::unhex(hex.begin() + 2, hex.end(), std::back_inserter(bytes));
  return bytes;
}

Shares shares(const pqxx::field& field) { return Shares::from_units(field.as<std::int64_t>()); }
Price price(const pqxx::field& field) { return Price::from_units(field.as<std::int64_t>()); }
Timestamp timestamp(const pqxx::field& field) { return {field.as<std::int64_t>()}; }
Cash cash(const pqxx::field& field) { return stored_cash(field.c_str()); }

const std::string order_columns =
    "o.id, o.account, o.symbol, o.is_buy, o.shares_e8, o.limit_e8, o.open_e8, o.canceled_e8, o.opened_at_us, o.canceled_at_us, " +
    place_of_order;
OrderRow order_row(const pqxx::row& row) {
  return {row[0].as<OrderId>(),
          row[1].as<AccountNumber>(),
          row[2].as<SymbolNumber>(),
          row[3].as<bool>() ? Side::buy : Side::sell,
          shares(row[4]),
          price(row[5]),
          shares(row[6]),
          shares(row[7]),
          timestamp(row[8]),
          timestamp(row[9]),
          row[10].as<OrderId>()};
}

ExecutionRow execution_row(const pqxx::row& row) {
  return {row[0].as<ExecutionId>(), row[1].as<SymbolNumber>(),
          row[2].as<OrderId>(),     row[3].as<OrderId>(),
          shares(row[4]),           price(row[5]),
          timestamp(row[6]),        row[7].as<int>() != 0 ? Side::buy : Side::sell};
}

void prepare_put_rows(pqxx::connection& connection) {
  connection.prepare(
      "put_accounts",
      "INSERT INTO accounts SELECT * FROM unnest($1::bigint[], $2::text[], $3::numeric[])"
      " ON CONFLICT (number) DO UPDATE SET balance_e16 = EXCLUDED.balance_e16");
  connection.prepare(
      "put_account_keys",
      "INSERT INTO account_keys SELECT * FROM unnest($1::bigint[], $2::text[]) ON CONFLICT (account) DO NOTHING");
  connection.prepare(
      "put_symbols",
      "INSERT INTO symbols SELECT * FROM unnest($1::bigint[], $2::text[], $3::bigint[])"
      " ON CONFLICT (number) DO UPDATE SET shares_total_e8 = EXCLUDED.shares_total_e8");
  connection.prepare(
      "put_positions",
      "INSERT INTO positions SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[])"
      " ON CONFLICT (account, symbol) DO UPDATE SET shares_e8 = EXCLUDED.shares_e8");
  connection.prepare(
      "put_orders",
      "INSERT INTO orders SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::boolean[], $5::bigint[],"
      " $6::bigint[], $7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[])"
      " ON CONFLICT (id) DO UPDATE SET shares_e8 = EXCLUDED.shares_e8, limit_e8 = EXCLUDED.limit_e8,"
      " open_e8 = EXCLUDED.open_e8, canceled_e8 = EXCLUDED.canceled_e8, canceled_at_us = EXCLUDED.canceled_at_us");
  connection.prepare(
      "put_references",
      "INSERT INTO order_references SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::text[])"
      " ON CONFLICT DO NOTHING");
  connection.prepare(
      "put_replacements",
      "INSERT INTO order_replacements SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[],"
      " $5::boolean[], $6::bigint[], $7::bigint[]) ON CONFLICT (number) DO NOTHING");
}

void put_rows(pqxx::transaction_base& work, const Rows& rows, const Projected& before) {
  put<3>(work, "put_accounts", rows.accounts, [](auto& columns, const AccountRow& row) {
    columns[0] << row.number;
    columns[1].quoted(row.id.view());
    columns[2] << units_text(row.balance.units());
  });
  put<2>(work, "put_account_keys", rows.account_keys, [](auto& columns, const AccountKeyRow& row) {
    columns[0] << row.account;
    columns[1].quoted(key_text(row.key));
  });
  put<3>(work, "put_symbols", rows.symbols, [](auto& columns, const SymbolRow& row) {
    columns[0] << row.number;
    columns[1].quoted(row.name.view());
    columns[2] << row.shares_total.units();
  });
  put<3>(work, "put_positions", rows.positions, [](auto& columns, const PositionRow& row) {
    columns[0] << row.account;
    columns[1] << row.symbol;
    columns[2] << row.shares.units();
  });
  std::vector<OrderRow> known;
  Copy new_orders(work, "orders");
  for (const OrderRow& row : rows.orders) {
    if (row.id <= before.orders)
      known.push_back(row);
    else
      new_orders.add(row.id, row.account, row.symbol, row.side == Side::buy, row.shares.units(),
                     row.limit.units(), row.open.units(), row.canceled.units(),
                     row.opened_at.microseconds, row.canceled_at.microseconds);
  }
  new_orders.complete();
  put<10>(work, "put_orders", known, [](auto& columns, const OrderRow& row) {
    columns[0] << row.id;
    columns[1] << row.account;
    columns[2] << row.symbol;
    columns[3] << (row.side == Side::buy);
    columns[4] << row.shares.units();
    columns[5] << row.limit.units();
    columns[6] << row.open.units();
    columns[7] << row.canceled.units();
    columns[8] << row.opened_at.microseconds;
    columns[9] << row.canceled_at.microseconds;
  });
  put<3>(work, "put_references", rows.references, [](auto& columns, const ReferenceRow& row) {
    columns[0] << row.account;
    columns[1] << row.order;
    columns[2].quoted(row.reference.view());
  });
  put<7>(work, "put_replacements", rows.replacements, [](auto& columns, const ReplacementRow& row) {
    columns[0] << row.number;
    columns[1] << row.order;
    columns[2] << row.shares.units();
    columns[3] << row.limit.units();
    columns[4] << row.keeps_place;
    columns[5] << row.executions_before;
    columns[6] << row.time.microseconds;
  });
  fail_point<StoreUnavailable>("projection.amid_rows");
  Copy executions(work, "executions");
  for (const ExecutionRow& row : rows.executions)
    if (row.id > before.executions)
      executions.add(row.id, row.symbol, row.buy_order, row.sell_order, row.shares.units(),
                     row.price.units(), row.time.microseconds);
  executions.complete();
}

}  // namespace exchange
