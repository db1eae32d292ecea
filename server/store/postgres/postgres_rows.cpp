#include "store/postgres/postgres_rows.hpp"

#include <array>
#include <boost/algorithm/hex.hpp>
#include <iterator>
#include <tuple>

#include "base/bursts.hpp"
#include "base/fail_point.hpp"
#include "journal/store_errors.hpp"
#include "store/schema.hpp"
#include "store/table_traits.hpp"

namespace exchange {
namespace {

// An array in PostgreSQL's text form, "{1,2,3}". It passes a whole column as one parameter, for
// unnest().
class ArrayText {
 public:
  ArrayText& operator<<(std::int64_t number) {
    (text_ += separator()) += std::to_string(number);
    return *this;
  }
  // Writes the text in quotes, because a symbol may be named NULL. Such texts need no escapes.
  ArrayText& operator<<(const std::string& text) {
    ((text_ += separator()) += '"') += text;
    text_ += '"';
    return *this;
  }
  std::string finish() { return text_ += (text_.empty() ? "{}" : "}"); }

 private:
  char separator() const { return text_.empty() ? '{' : ','; }
  std::string text_;
};

// Writes all rows of a table with one prepared statement: each column is one array parameter.
template <class Row>
void put(pqxx::transaction_base& work, const std::vector<Row>& rows) {
  if (rows.empty()) return;
  std::array<ArrayText, columns<Row>> arrays;
  Bursts::each(rows, [&](const Row& row) {
    std::size_t column = 0;
    for_each_stored(row, [&](const auto& value) { arrays[column++] << value; });
  });
  const std::string statement = std::string("put_") + TableTraits<Row>::name;
  std::apply([&](auto&... array) { work.exec_prepared(statement, array.finish()...); }, arrays);
}

// COPY of new rows, which takes a third of the time of an INSERT that looks for conflicts. It
// starts with the first row. It names the columns, because an operator may have added others.
template <class Row>
class Copy {
 public:
  explicit Copy(pqxx::transaction_base& work) : work_(work) {}
  void add(const Row& row) {
    if (!stream_) stream_ = copy_into(work_, TableTraits<Row>::name, column_names<Row>());
    std::array<std::int64_t, columns<Row>> values;  // such rows have no texts
    std::size_t column = 0;
    for_each_stored(row, [&](std::int64_t value) { values[column++] = value; });
    *stream_ << values;
    Bursts::rest_if_due();
  }
  void complete() {
    if (stream_) stream_->complete();
  }

 private:
  pqxx::transaction_base& work_;
  std::unique_ptr<pqxx::stream_to> stream_;
};

// `known` is the newest id that the table has already.
void put_orders(pqxx::transaction_base& work, const std::vector<OrderRow>& rows, OrderId known) {
  std::vector<OrderRow> changed;
  Copy<OrderRow> new_orders(work);
  for (const OrderRow& row : rows) {
    if (row.id <= known)
      changed.push_back(row);
    else
      new_orders.add(row);
  }
  new_orders.complete();
  put(work, changed);
}
void put_executions(pqxx::transaction_base& work, const std::vector<ExecutionRow>& rows,
                    ExecutionId known) {
  fail_point<StoreUnavailable>("projection.amid_rows");
  Copy<ExecutionRow> executions(work);
  for (const ExecutionRow& row : rows)
    if (row.id > known) executions.add(row);
  executions.complete();
}

const char* sql_type(const Column& column) {
  return column.boolean ? "boolean" : column.numeric ? "numeric" : column.text ? "text" : "bigint";
}

// Returns "$1::bigint[], $2::text[]".
template <class Row>
std::string array_parameters() {
  std::string list;
  for (const Column& column : columns_of<Row>()) {
    const std::string number = std::to_string(1 + (&column - columns_of<Row>().data()));
    list += (list.empty() ? "$" : ", $") + number + "::" + sql_type(column) + "[]";
  }
  return list;
}

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

void bring_up_tables(pqxx::transaction_base& work) {
  add_missing_columns(
      [&](const std::string& table) {
        std::set<std::string> names;
        for (const auto& row : work.exec("SELECT attname FROM pg_attribute WHERE attnum > 0 AND NOT"
                                         " attisdropped AND attrelid = to_regclass('" +
                                         table + "')"))
          names.emplace(row[0].c_str());
        return names;
      },
      sql_type, [&](const std::string& statement) { work.exec(statement); });
  work.exec(schema::postgresql);  // new tables, and indexes of new columns
  work.exec("UPDATE fence SET schema_version = " + std::to_string(store_format));
}

void prepare_put_rows(pqxx::connection& connection) {
  for_each_member<Rows>([&](auto rows) {
    using Row = RowIn<decltype(rows)>;
    const std::string table = TableTraits<Row>::name;
    connection.prepare("put_" + table, "INSERT INTO " + table + " SELECT * FROM unnest(" +
                                           array_parameters<Row>() + ") ON CONFLICT " +
                                           on_conflict<Row>());
  });
}

void put_rows(pqxx::transaction_base& work, const Rows& rows, const Projected& before) {
  for_each_member<Rows>([&](auto of_table) {
    using Row = RowIn<decltype(of_table)>;
    if constexpr (std::same_as<Row, OrderRow>)
      put_orders(work, rows.orders, before.orders);
    else if constexpr (std::same_as<Row, ExecutionRow>)
      put_executions(work, rows.executions, before.executions);
    else
      put(work, rows.*of_table.pointer);
  });
}

std::vector<JournalRow> select_journal(pqxx::transaction_base& work, const std::string& table,
                                       BatchNumber after, std::size_t rows_max) {
  std::vector<JournalRow> rows;
  for (const auto& row :
       work.exec("SELECT batch, epoch, payload FROM " + table + " WHERE batch > " +
                 std::to_string(after) + " ORDER BY batch LIMIT " + std::to_string(rows_max)))
    rows.push_back({row[0].as<BatchNumber>(), row[1].as<Epoch>(), from_bytea(row[2].c_str())});
  return rows;
}

}  // namespace exchange
