#include "tools/audit/stored_rows.hpp"

#include <array>
#include <concepts>
#include <limits>
#include <tuple>

#include "store/stored_text.hpp"

namespace exchange::audit {
namespace {

// The columns of a table in the order in which they are read, and their values in its rows.
template <class Row>
struct Layout;
template <>
struct Layout<AccountRow> {
  static constexpr const char* name = "accounts";
  static constexpr std::array columns{"number", "id", "balance_e16"};
  static auto values(auto& row) { return std::tie(row.number, row.id, row.balance); }
};
template <>
struct Layout<AccountKeyRow> {
  static constexpr const char* name = "account_keys";
  static constexpr std::array columns{"account", "key_hash"};
  static auto values(auto& row) { return std::tie(row.account, row.key); }
};
template <>
struct Layout<SymbolRow> {
  static constexpr const char* name = "symbols";
  static constexpr std::array columns{"number", "name", "shares_total_e8"};
  static auto values(auto& row) { return std::tie(row.number, row.name, row.shares_total); }
};
template <>
struct Layout<PositionRow> {
  static constexpr const char* name = "positions";
  static constexpr std::array columns{"account", "symbol", "shares_e8"};
  static auto values(auto& row) { return std::tie(row.account, row.symbol, row.shares); }
};
template <>
struct Layout<OrderRow> {
  static constexpr const char* name = "orders";
  static constexpr std::array columns{"id",           "account",       "symbol",  "is_buy",
                                      "shares_e8",    "limit_e8",      "open_e8", "canceled_e8",
                                      "opened_at_us", "canceled_at_us"};
  static auto values(auto& row) {
    return std::tie(row.id, row.account, row.symbol, row.side, row.shares, row.limit, row.open,
                    row.canceled, row.opened_at, row.canceled_at);
  }
};
template <>
struct Layout<ReplacementRow> {
  static constexpr const char* name = "order_replacements";
  static constexpr std::array columns{"number",      "order_id",          "shares_e8", "limit_e8",
                                      "keeps_place", "executions_before", "time_us"};
  static auto values(auto& row) {
    return std::tie(row.number, row.order, row.shares, row.limit, row.keeps_place,
                    row.executions_before, row.time);
  }
};
template <>
struct Layout<ReferenceRow> {  // without what its order's row has
  static constexpr const char* name = "order_references";
  static constexpr std::array columns{"order_id", "account", "ref"};
  static auto values(auto& row) { return std::tie(row.order, row.account, row.reference); }
};
template <>
struct Layout<ExecutionRow> {
  static constexpr const char* name = "executions";
  static constexpr std::array columns{"id",        "symbol",   "buy_order", "sell_order",
                                      "shares_e8", "price_e8", "time_us"};
  static auto values(auto& row) {
    return std::tie(row.id, row.symbol, row.buy_order, row.sell_order, row.shares, row.price,
                    row.time);
  }
};
template <>
struct Layout<Totals> {
  static constexpr std::array columns{"orders", "executions", "cash_created_e16", "last_time_us",
                                      "digest"};
  static auto values(auto& totals) {
    return std::tie(totals.orders, totals.executions, totals.cash_created, totals.last_time,
                    totals.digest);
  }
};

// Calls visit(column, value, position) for each column.
template <class Row, class Visit>
void for_each_column(Row& row, Visit visit) {
  using Columns = Layout<std::remove_const_t<Row>>;
  int at = 0;
  std::apply([&](auto&... value) { ((visit(Columns::columns[at], value, at), ++at), ...); },
             Columns::values(row));
}

void require(bool valid, const char* column, const char* problem) {
  if (!valid) throw BadValue(std::string(column) + problem);
}
template <std::unsigned_integral Number>
void read(const RowStream& row, int at, const char* column, Number& number) {
  const std::int64_t value = row.integer(at);
  require(value >= 0 && std::uint64_t(value) <= std::numeric_limits<Number>::max(), column,
          " is out of range");
  number = Number(value);
}
void read(const RowStream& row, int at, const char*, Shares& shares) {
  shares = Shares::from_units(row.integer(at));
}
void read(const RowStream& row, int at, const char*, Price& price) {
  price = Price::from_units(row.integer(at));
}
void read(const RowStream& row, int at, const char*, Timestamp& time) { time = {row.integer(at)}; }
void read(const RowStream& row, int at, const char* column, Cash& cash) {
  const auto units = parse_units(row.text(at));
  require(bool(units), column, " is not an amount of cash");
  cash = Cash::from_units(units.value);
}
void read(const RowStream& row, int at, const char* column, bool& value) {
  const std::int64_t number = row.integer(at);
  require(number == 0 || number == 1, column, " is neither 0 nor 1");
  value = number == 1;
}
void read(const RowStream& row, int at, const char* column, Side& side) {
  bool is_buy = false;
  read(row, at, column, is_buy);
  side = is_buy ? Side::buy : Side::sell;
}
void read(const RowStream& row, int at, const char* column, AccountId& account) {
  const auto id = parse_account_id(row.text(at));
  require(id.has_value(), column, " is not an account id");
  account = *id;
}
void read(const RowStream& row, int at, const char* column, SymbolName& symbol) {
  const auto name = parse_symbol_name(row.text(at));
  require(name.has_value(), column, " is not a symbol");
  symbol = *name;
}
void read(const RowStream& row, int at, const char* column, OrderReference& reference) {
  const auto parsed = parse_order_reference(row.text(at));
  require(parsed.has_value(), column, " is not an order reference");
  reference = *parsed;
}
void read(const RowStream& row, int at, const char* column, KeyHash& key) try {
  key = stored_key(row.text(at));
} catch (const StoreCorrupt&) {
  require(false, column, " is not a key hash");
}

std::string text(std::uint64_t number) { return std::to_string(number); }
std::string text(Shares shares) { return std::to_string(shares.units()); }
std::string text(Price price) { return std::to_string(price.units()); }
std::string text(Cash cash) { return units_text(cash.units()); }
std::string text(Timestamp time) { return std::to_string(time.microseconds); }
std::string text(const KeyHash& key) { return key_text(key); }
std::string text(std::same_as<bool> auto value) { return value ? "1" : "0"; }
std::string text(Side side) { return side == Side::buy ? "buy" : "sell"; }
template <std::size_t Max>
std::string text(const InlineText<Max>& id) {
  return std::string(id.view());
}

template <class Row>
std::string differing_columns(const Row& stored, const Row& expected) {
  std::vector<std::string> should;
  for_each_column(expected, [&](auto, auto& value, int) { should.push_back(text(value)); });
  std::string all;
  for_each_column(stored, [&](const char* column, auto& value, int at) {
    if (const std::string is = text(value); is != should[at])
      all += (all.empty() ? "" : ", ") + std::string(column) + " is " + is + ", should be " +
             should[at];
  });
  return all;
}

}  // namespace

template <class Row>
const char* Table<Row>::name() {
  return Layout<Row>::name;
}

template <class Row>
int Table<Row>::columns() {
  return int(Layout<Row>::columns.size());
}

template <class Row>
std::unique_ptr<RowStream> Table<Row>::select(Source& source, const std::string& rest,
                                              const std::string& more) {
  constexpr bool is_new = std::same_as<Row, AccountKeyRow> || std::same_as<Row, ReferenceRow> ||
                          std::same_as<Row, ReplacementRow>;
  if (is_new && !source.has_table(name())) return source.tables("SELECT 0 WHERE 1 = 0");
  std::string select;
  Row types{};
  for_each_column(types, [&]<class Value>(const std::string& column, Value&, int) {
    select += select.empty() ? "SELECT " : ", ";
    constexpr bool is_boolean = std::same_as<Value, Side> || std::same_as<Value, bool>;
    select += std::same_as<Value, Cash> ? "CAST(" + column + " AS TEXT)"
              : is_boolean              ? "CAST(" + column + " AS INTEGER) AS " + column
                                        : column;
  });
  if (!more.empty()) select += ", " + more;
  return source.tables(select + " FROM " + name() + " " + rest);
}

template <class Row>
Row Table<Row>::read(const RowStream& from) {
  Row row{};
  for_each_column(
      row, [&](const char* column, auto& value, int at) { audit::read(from, at, column, value); });
  return row;
}

template <class Row>
std::string Table<Row>::row_name(const Row& row) {
  if constexpr (std::same_as<Row, PositionRow>)
    return "positions account " + std::to_string(row.account) + " symbol " +
           std::to_string(row.symbol);
  else
    return audit::row_name(name(), std::get<0>(Layout<Row>::values(row)));
}

template <class Row>
std::string Table<Row>::difference(const Row& stored, const Row& expected) {
  return differing_columns(stored, expected);
}

template struct Table<AccountRow>;
template struct Table<AccountKeyRow>;
template struct Table<SymbolRow>;
template struct Table<PositionRow>;
template struct Table<OrderRow>;
template struct Table<ReplacementRow>;
template struct Table<ReferenceRow>;
template struct Table<ExecutionRow>;

std::string difference(const Totals& stored, const Totals& expected) {
  return differing_columns(stored, expected);
}

std::string row_name(const char* table, std::uint64_t key) {
  return std::string(table) + " " + std::to_string(key);
}

Projection read_projection(Source& source) {
  const auto row = source.tables(
      "SELECT batch, orders, executions, CAST(cash_created_e16 AS TEXT), last_time_us, digest "
      "FROM projection");
  if (!row->next()) throw BadValue("the row is missing");
  Projection found;
  read(*row, 0, "batch", found.batch);
  read(*row, 1, "orders", found.totals.orders);
  read(*row, 2, "executions", found.totals.executions);
  read(*row, 3, "cash_created_e16", found.totals.cash_created);
  read(*row, 4, "last_time_us", found.totals.last_time);
  found.totals.digest = std::uint64_t(row->integer(5));  // of any sign
  if (row->next()) throw BadValue("there is more than one row");
  return found;
}

}  // namespace exchange::audit
