#pragma once
// Describes how tables hold rows, derived from the description of engine/rows.hpp, for every store
// and for the audit. columns_of<Row>() has the names; read_row() and for_each_stored() have the
// values. db/*.sql create the tables; a test compares them with this. No state; any thread.
//
// A column is a member of the row; columns follow the order of the members. Its name contains the
// unit: shares_e8 and limit_e8 count 1e-8, balance_e16 1e-16, time_us microseconds since the Unix
// epoch. In SQL a column is an integer or a text; booleans and sides (is_buy) are 0 or 1.

#include <array>
#include <concepts>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/described.hpp"
#include "engine/leaderboard.hpp"
#include "engine/references.hpp"
#include "journal/store_errors.hpp"
#include "store/fills.hpp"
#include "store/key_text.hpp"

namespace exchange {

// The properties of a table other than its columns.
//   name
//   key        its columns that identify a row
//   key_of()   the same as a number
//   changing   columns that may change once a row exists
//   computed   the number of trailing members that are not columns; other values determine them
//   at_start   the order in which a start reads all of its rows; null: it does not read all of them
template <class Row>
struct TableTraits;

// A table whose rows never change and have only members that are columns.
struct UsualTable {
  static constexpr std::array<const char*, 0> changing{};
  static constexpr std::size_t computed = 0;
  static constexpr const char* at_start = nullptr;
};

template <>
struct TableTraits<AccountRow> : UsualTable {
  static constexpr const char *name = "accounts", *key = "number", *at_start = "ORDER BY number";
  static constexpr std::array changing{"balance_e16", "events"};
  static std::uint64_t key_of(const AccountRow& row) { return row.number; }
};
template <>
struct TableTraits<AccountKeyRow> : UsualTable {
  static constexpr const char *name = "account_keys", *key = "account", *at_start = "";
  static constexpr std::array changing{"key_hash"};
  static std::uint64_t key_of(const AccountKeyRow& row) { return row.account; }
};
template <>
struct TableTraits<AccountRulesRow> : UsualTable {
  static constexpr const char *name = "account_rules", *key = "account", *at_start = "";
  static constexpr std::array changing{
      "role", "access", "orders_max", "orders_per_second_max", "position_max_e8", "name"};
  static std::uint64_t key_of(const AccountRulesRow& row) { return row.account; }
};
template <>
struct TableTraits<SymbolRow> : UsualTable {
  static constexpr const char *name = "symbols", *key = "number", *at_start = "ORDER BY number";
  static constexpr std::array changing{
      "shares_total_e8", "tick_e8", "price_min_e8", "price_max_e8",     "band_e8",      "lot_e8",
      "order_max_e8",    "at_band", "trading",      "trading_since_us", "last_price_e8"};
  static std::uint64_t key_of(const SymbolRow& row) { return row.number; }
};
template <>
struct TableTraits<PositionRow> : UsualTable {
  static constexpr const char *name = "positions", *key = "account, symbol", *at_start = "";
  static constexpr std::array changing{"shares_e8"};
  static std::uint64_t key_of(const PositionRow& row) {
    return std::uint64_t(row.account) << 32 | row.symbol;
  }
};
template <>
struct TableTraits<OrderRow> : UsualTable {
  static constexpr const char *name = "orders", *key = "id";
  static constexpr std::array changing{"shares_e8", "limit_e8", "open_e8", "canceled_e8",
                                       "canceled_at_us"};
  static constexpr std::size_t computed = 1;  // the place
  static std::uint64_t key_of(const OrderRow& row) { return row.id; }
};
template <>
struct TableTraits<ReferenceRow> : UsualTable {
  static constexpr const char *name = "order_references", *key = "account, order_id";
  static constexpr std::size_t computed = 4;  // what its order was originally
  static std::uint64_t key_of(const ReferenceRow& row) { return row.order; }
};
template <>
struct TableTraits<ReplacementRow> : UsualTable {
  static constexpr const char *name = "order_replacements", *key = "number";
  static std::uint64_t key_of(const ReplacementRow& row) { return row.number; }
};
template <>
struct TableTraits<ExecutionRow> : UsualTable {
  static constexpr const char *name = "executions", *key = "id";
  static constexpr std::size_t computed = 1;  // the taker
  static std::uint64_t key_of(const ExecutionRow& row) { return row.id; }
};

template <>
struct TableTraits<EventRow> : UsualTable {
  static constexpr const char *name = "account_events", *key = "account, number";
  static constexpr std::size_t computed = 1;  // the reference
  static std::uint64_t key_of(const EventRow& row) {
    return std::uint64_t(row.account) << 32 | (row.number & UINT32_MAX);
  }
};

template <>
struct TableTraits<RoundRow> : UsualTable {
  static constexpr const char *name = "rounds", *key = "number", *at_start = "ORDER BY number";
  static std::uint64_t key_of(const RoundRow& row) { return row.number; }
};

// --- values

// Returns the form of a value in a column: an integer, or a text.
template <std::integral Number>
std::int64_t to_stored(Number number) {
  return std::int64_t(number);
}
inline std::int64_t to_stored(Side side) { return side == Side::buy; }
inline std::int64_t to_stored(Shares shares) { return shares.units(); }
inline std::int64_t to_stored(Price price) { return price.units(); }
inline std::int64_t to_stored(Timestamp time) { return time.microseconds; }
inline std::string to_stored(Cash cash) { return units_text(cash.units()); }
inline std::string to_stored(const KeyHash& key) { return key_text(key); }
template <std::size_t Max>
std::string to_stored(const InlineText<Max>& text) {
  return std::string(text.view());
}
inline std::string to_stored(EventKind kind) { return std::string(to_string(kind)); }
// Enumerations whose first value is stored as an empty text, as in tables older than the column.
template <class Value>
concept WordWithDefault = std::same_as<Value, Trading> || std::same_as<Value, AtBand> ||
    std::same_as<Value, Role> || std::same_as<Value, Access>;
template <WordWithDefault Value>
std::string to_stored(Value value) {
  return value == Value() ? "" : std::string(to_string(value));
}
inline std::string to_stored(const std::optional<OrderReference>& reference) {
  return reference ? to_stored(*reference) : "";
}
template <class Value>
inline constexpr bool is_stored_as_text =
    std::same_as<decltype(to_stored(std::declval<const Value&>())), std::string>;
template <class Value>
inline constexpr bool is_boolean = std::same_as<Value, bool> || std::same_as<Value, Side>;

// Each overload returns the problem, such as "is out of range"; null if a server can have written
// the value.
template <std::unsigned_integral Number>
const char* from_stored(std::int64_t stored, Number& number) {
  number = Number(stored);
  return stored >= 0 && std::uint64_t(stored) <= std::numeric_limits<Number>::max()
             ? nullptr
             : "is out of range";
}
inline const char* from_stored(std::int64_t stored, bool& value) {
  value = stored == 1;
  return stored == 0 || stored == 1 ? nullptr : "is neither 0 nor 1";
}
inline const char* from_stored(std::int64_t stored, Side& side) {
  bool is_buy;
  const char* const problem = from_stored(stored, is_buy);
  side = is_buy ? Side::buy : Side::sell;
  return problem;
}
inline const char* from_stored(std::int64_t stored, Shares& shares) {
  shares = Shares::from_units(stored);
  return nullptr;
}
inline const char* from_stored(std::int64_t stored, Price& price) {
  price = Price::from_units(stored);
  return nullptr;
}
inline const char* from_stored(std::int64_t stored, Timestamp& time) {
  time = {stored};
  return nullptr;
}
inline const char* from_stored(std::string_view stored, Cash& cash) {
  const auto units = parse_units(stored);
  if (!units) return "is not an amount of cash";
  cash = Cash::from_units(units.value);
  return nullptr;
}
template <class Value>
const char* take(const std::optional<Value>& parsed, Value& value, const char* problem) {
  if (!parsed) return problem;
  value = *parsed;
  return nullptr;
}
inline const char* from_stored(std::string_view stored, AccountId& id) {
  return take(parse_account_id(stored), id, "is not an account id");
}
inline const char* from_stored(std::string_view stored, SymbolName& name) {
  return take(parse_symbol_name(stored), name, "is not a symbol");
}
inline const char* from_stored(std::string_view stored, OrderReference& reference) {
  return take(parse_order_reference(stored), reference, "is not an order reference");
}
inline const char* from_stored(std::string_view stored, AccountName& name) {
  return take(parse_account_name(stored), name, "is not a name of an account");
}
inline const char* from_stored(std::string_view stored, std::optional<OrderReference>& reference) {
  reference = parse_order_reference(stored);
  return reference || stored.empty() ? nullptr : "is not an order reference";
}
inline const char* from_stored(std::string_view stored, EventKind& kind) {
  for (std::size_t at = 0; at < enumerators<EventKind>; ++at)
    if (kind = EventKind(at); to_string(kind) == stored) return nullptr;
  return "is not a kind of event";
}
template <WordWithDefault Value>
const char* from_stored(std::string_view stored, Value& value) {
  for (std::size_t at = 0; at < enumerators<Value>; ++at)
    if (value = Value(at); to_stored(value) == stored) return nullptr;
  return "is none of its words";
}
inline const char* from_stored(std::string_view stored, KeyHash& key) {
  return take(parse_key_text(stored), key, "is not a key hash");
}

// Returns the cash of a total. Throws StoreCorrupt.
inline Cash stored_cash(std::string_view text) {
  Cash cash;
  if (const char* const problem = from_stored(text, cash))
    throw StoreCorrupt("'" + std::string(text) + "' " + problem);
  return cash;
}

// --- columns

template <class Row, class Member>
using MemberType = std::remove_cvref_t<decltype(std::declval<Row&>().*Member::pointer)>;
// The row type of a member of Rows.
template <class Member>
using RowIn = typename MemberType<Rows, Member>::value_type;

// Returns "limit_e8" for the member `limit`.
template <class Value>
std::string column_name(std::string_view member) {
  if constexpr (std::same_as<Value, Side>) return "is_buy";
  if (member == "order") return "order_id";  // "order" is a word of SQL
  if (member == "reference") return "ref";
  std::string name(member);
  if constexpr (std::same_as<Value, Shares> || std::same_as<Value, Price>) name += "_e8";
  if constexpr (std::same_as<Value, Cash>) name += "_e16";
  if constexpr (std::same_as<Value, Timestamp>) name += "_us";
  if constexpr (std::same_as<Value, KeyHash>) name += "_hash";
  return name;
}

// The members of a row that are columns.
template <class Row>
using StoredMembers =
    boost::mp11::mp_take_c<MembersOf<Row>, boost::mp11::mp_size<MembersOf<Row>>::value -
                                               TableTraits<Row>::computed>;
template <class Row>
inline constexpr std::size_t columns = boost::mp11::mp_size<StoredMembers<Row>>::value;

// Calls use(value) for the stored form of each column.
template <class Row, class Use>
void for_each_stored(const Row& row, Use use) {
  boost::mp11::mp_for_each<StoredMembers<Row>>(
      [&](auto member) { use(to_stored(row.*member.pointer)); });
}

struct Column {
  std::string name;
  bool boolean, text, numeric;  // numeric: a text of digits
};
template <class Row>
const std::vector<Column>& columns_of() {
  static const std::vector<Column> all = [] {
    std::vector<Column> columns;
    boost::mp11::mp_for_each<StoredMembers<Row>>([&](auto member) {
      using Value = MemberType<Row, decltype(member)>;
      columns.push_back({column_name<Value>(member.name), is_boolean<Value>,
                         is_stored_as_text<Value>, std::same_as<Value, Cash>});
    });
    return columns;
  }();
  return all;
}

// Calls run("ALTER TABLE orders ADD COLUMN ...") for each column that a table of an earlier format
// lacks. These columns are the last ones; zero, false or an empty text stands for a value that no
// row had then. names_in(table) returns the columns of the table, none if it does not exist;
// type_of(column) returns its SQL type.
template <class NamesIn, class TypeOf, class Run>
void add_missing_columns(NamesIn names_in, TypeOf type_of, Run run) {
  for_each_member<Rows>([&](auto rows) {
    using Row = RowIn<decltype(rows)>;
    const std::string table = TableTraits<Row>::name;
    const std::set<std::string> names = names_in(table);
    if (names.empty()) return;
    for (const Column& column : columns_of<Row>())
      if (!names.contains(column.name))
        run("ALTER TABLE " + table + " ADD COLUMN " + column.name + " " + type_of(column) +
            " NOT NULL DEFAULT " + (column.text && !column.numeric ? "''" : "'0'"));
    // compute the value that the column would have if it had always existed
    if (std::same_as<Row, SymbolRow> && !names.contains("last_price_e8"))
      run("UPDATE symbols SET last_price_e8 = newest.price_e8 FROM (SELECT symbol, price_e8 FROM "
          "executions WHERE id IN (SELECT max(id) FROM executions GROUP BY symbol)) AS newest "
          "WHERE newest.symbol = number");
  });
}

template <class Row>
std::vector<std::string> column_names() {
  std::vector<std::string> names;
  for (const Column& column : columns_of<Row>()) names.emplace_back(column.name);
  return names;
}

// Returns the list to select for read_row(): "o.id, ..., CAST(o.is_buy AS INTEGER), ...".
template <class Row>
std::string select_list(const std::string& alias = {}) {
  std::string list;
  for (const Column& column : columns_of<Row>()) {
    const std::string name = alias.empty() ? column.name : alias + "." + column.name;
    list += list.empty() ? "" : ", ";
    list += column.boolean   ? "CAST(" + name + " AS INTEGER)"
            : column.numeric ? "CAST(" + name + " AS TEXT)"
                             : name;
  }
  return list;
}

// Returns what happens to a row that exists: "(number) DO UPDATE SET balance_e16 =
// excluded.balance_e16".
template <class Row>
std::string on_conflict() {
  std::string change;
  for (const char* const column : TableTraits<Row>::changing)
    change +=
        (change.empty() ? " DO UPDATE SET " : ", ") + std::string(column) + " = excluded." + column;
  return std::string("(") + TableTraits<Row>::key + ")" + (change.empty() ? " DO NOTHING" : change);
}

// A value is invalid for its column.
struct BadColumn : StoreCorrupt {
  using StoreCorrupt::StoreCorrupt;
};

// Reads the members of the list from `source`, whose integer(column) and text(column) are the
// columns of a row of a result. Throws BadColumn: "is_buy is neither 0 nor 1".
template <class Members, class Row, class Source>
void read_members(const Source& source, Row& row) {
  int at = 0;
  boost::mp11::mp_for_each<Members>([&](auto member) {
    using Value = MemberType<Row, decltype(member)>;
    const char* problem;
    if constexpr (is_stored_as_text<Value>)
      problem = from_stored(source.text(at), row.*member.pointer);
    else
      problem = from_stored(source.integer(at), row.*member.pointer);
    if (problem != nullptr) throw BadColumn(column_name<Value>(member.name) + " " + problem);
    ++at;
  });
}
// Reads all members of a row. The computed ones follow the columns.
template <class Row, class Source>
Row read_row(const Source& source) {
  Row row;
  try {
    read_members<MembersOf<Row>>(source, row);
  } catch (const BadColumn& error) {
    throw StoreCorrupt(std::string(TableTraits<Row>::name) + ": " + error.what());
  }
  return row;
}

// --- what the stores select, in the SQL of both databases

// A client may replace an order any number of times. Each look-up reads one row of an index,
// because executions_before never decreases as the number grows, and places_of_order lacks the
// replacements that keep the place. The tape of db/*_views.sql finds takers in the same way.

// Returns the place of the order `order`: the number of its newest replacement that changed the
// place, or its id. `then` restricts the replacements.
inline std::string place_of(const std::string& order, const std::string& then = {}) {
  return "coalesce((SELECT number FROM order_replacements WHERE order_id = " + order +
         " AND NOT keeps_place" + then +
         " ORDER BY executions_before DESC, number DESC LIMIT 1), " + order + ")";
}

// The columns of `orders o`.
inline const std::string order_columns = select_list<OrderRow>("o") + ", " + place_of("o.id");
inline const std::string order_by_place = "ORDER BY " + std::to_string(columns<OrderRow> + 1);

// The columns of `executions e`. The buy is the taker if it arrived, or was replaced, after the
// sell.
inline const std::string execution_columns = [] {
  const std::string then = " AND executions_before < e.id";
  return select_list<ExecutionRow>("e") + ", CAST(" + place_of("e.buy_order", then) + " > " +
         place_of("e.sell_order", then) + " AS INTEGER)";
}();

// The columns of `account_events e`.
inline const std::string event_columns =
    select_list<EventRow>("e") +
    ", coalesce((SELECT ref FROM order_references r"
    " WHERE r.account = e.account AND r.order_id = e.order_id), '')";

// Selects the newest references of each account (References::kept_max), with the original state of
// their orders. The recursion finds the accounts that have references.
inline const std::string select_newest_references = [] {
  const auto at_first = [](const std::string& column) {
    return "coalesce((SELECT " + column +
           " FROM order_replacements WHERE order_id = o.id"
           " ORDER BY executions_before, number LIMIT 1), o." +
           column + ")";
  };
  return "WITH RECURSIVE a(account) AS (SELECT min(account) FROM order_references UNION ALL"
         " SELECT (SELECT min(account) FROM order_references WHERE account > a.account) FROM a"
         " WHERE a.account IS NOT NULL) SELECT " +
         select_list<ReferenceRow>("r") + ", o.symbol, CAST(o.is_buy AS INTEGER), " +
         at_first("shares_e8") + ", " + at_first("limit_e8") +
         " FROM a CROSS JOIN order_references r CROSS JOIN orders o"
         " WHERE r.account = a.account AND o.id = r.order_id AND r.order_id > coalesce("
         "(SELECT order_id FROM order_references WHERE account = a.account"
         " ORDER BY order_id DESC LIMIT 1 OFFSET " +
         std::to_string(References::kept_max) + "), 0) ORDER BY r.order_id";
}();

// Selects the members of Leaderboard::Trade, of executions after `after`.
inline std::string select_trades(ExecutionId after) {
  return "SELECT e.id, e.symbol, b.account, s.account, e.shares_e8, e.price_e8, e.time_us"
         " FROM executions e JOIN orders b ON b.id = e.buy_order"
         " JOIN orders s ON s.id = e.sell_order WHERE e.id > " +
         std::to_string(after) + " ORDER BY e.id";
}
template <class Source>
Leaderboard::Trade read_trade(const Source& source) {
  return {ExecutionId(source.integer(0)),        SymbolNumber(source.integer(1)),
          AccountNumber(source.integer(2)),      AccountNumber(source.integer(3)),
          Shares::from_units(source.integer(4)), Price::from_units(source.integer(5)),
          Timestamp{source.integer(6)}};
}

// The queries of both databases. `sign` is the prefix of parameter numbers.

// Selects the executions of the order in parameter 1. Parameter 2 is the maximum, 3 the number to
// skip.
inline std::string select_executions(const std::string& sign, bool newest_first) {
  const auto of_side = [&](const std::string& side) {
    return "SELECT id, shares_e8, price_e8, time_us FROM executions WHERE " + side +
           "_order = " + sign + "1 ";
  };
  return of_side("buy") + "UNION ALL " + of_side("sell") + "ORDER BY 1 " +
         (newest_first ? "DESC " : "") + "LIMIT " + sign + "2 OFFSET " + sign + "3";
}
inline std::string count_executions(const std::string& sign) {
  const auto of_side = [&](const std::string& side) {
    return "(SELECT count(*) FROM executions WHERE " + side + "_order = " + sign + "1)";
  };
  return "SELECT " + of_side("buy") + " + " + of_side("sell");
}
// Selects the events of the account in parameter 1, with numbers from parameter 2 to 3.
inline std::string select_events(const std::string& sign) {
  return "SELECT " + event_columns + " FROM account_events e WHERE e.account = " + sign +
         "1 AND e.number BETWEEN " + sign + "2 AND " + sign + "3 ORDER BY e.number";
}

// Selects the executions of a FillRange, for read_filled_orders(). Parameter 1 is the account, 2
// and 3 are `after` and `through`, 4 is the maximum. It reads the executions by their ids: an index
// of orders by account would make a projection more than half as slow again. CROSS JOIN keeps
// SQLite in that order.
inline std::string select_fills(const std::string& sign, bool newest_first) {
  const auto ref_of = [&](const std::string& order) {
    return ", coalesce((SELECT ref FROM order_references r WHERE r.account = " + sign +
           "1 AND r.order_id = " + order + "), '')";
  };
  return "SELECT " + execution_columns + ", b.account, s.account" + ref_of("e.buy_order") +
         ref_of("e.sell_order") +
         " FROM executions e CROSS JOIN orders b CROSS JOIN orders s WHERE e.id > " + sign +
         "2 AND e.id <= " + sign + "3 AND b.id = e.buy_order AND s.id = e.sell_order AND (" +
         "b.account = " + sign + "1 OR s.account = " + sign + "1) ORDER BY e.id " +
         (newest_first ? "DESC" : "") + " LIMIT " + sign + "4";
}
template <class Source>
FilledOrders read_filled_orders(const Source& source) {
  constexpr int behind = int(boost::mp11::mp_size<MembersOf<ExecutionRow>>::value);
  FilledOrders filled{
      read_row<ExecutionRow>(source),
      {AccountNumber(source.integer(behind)), AccountNumber(source.integer(behind + 1))},
      {}};
  for (const int side : {0, 1})
    if (const char* const problem =
            from_stored(source.text(behind + 2 + side), filled.references[side]))
      throw StoreCorrupt(std::string("order_references: ref ") + problem);
  return filled;
}

// Selects every row of a table. `rest` has WHERE and ORDER BY.
template <class Row>
std::string select_all(const std::string& rest = {}) {
  return "SELECT " + select_list<Row>() + " FROM " + TableTraits<Row>::name + " " + rest;
}

// Calls read(rows, statement) for each table of which a start reads all rows.
template <class Read>
void for_each_table_at_start(Rows& rows, Read read) {
  for_each_member<Rows>([&](auto of_table) {
    using Row = RowIn<decltype(of_table)>;
    if constexpr (constexpr const char* order = TableTraits<Row>::at_start; order != nullptr)
      read(rows.*of_table.pointer, select_all<Row>(order));
  });
}

}  // namespace exchange
