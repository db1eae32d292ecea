#pragma once
// SqliteRows inserts many rows with one statement: SQL reads them from a table-valued source, a
// virtual table (https://www.sqlite.org/vtab.html) over a vector. That takes half the time of one
// statement per row. Thread: that of the connection.

#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "store/sqlite/sqlite.hpp"
#include "store/table_traits.hpp"

namespace exchange {

class SqliteRows {
 public:
  using Value = std::variant<std::int64_t, std::string>;
  using Values = std::vector<Value>;

  SqliteRows() = default;
  // Adds the source changed_TABLE to the connection. Throws as SqliteDatabase.
  template <class Row>
  static SqliteRows into(SqliteDatabase& database) {
    return {database, TableTraits<Row>::name, column_names<Row>(), on_conflict<Row>()};
  }

  // Runs the statement over all rows.
  template <class Row>
  void run(const std::vector<Row>& rows) {
    if (rows.empty()) return;
    run(rows.size(), [&](std::size_t at, Values& values) {
      std::size_t column = 0;
      for_each_stored(rows[at], [&](auto value) { values[column++] = std::move(value); });
    });
  }

  struct Source;  // the connection owns it

 private:
  SqliteRows(SqliteDatabase& database, const std::string& table,
             const std::vector<std::string>& columns, const std::string& on_conflict);
  void run(std::size_t count, std::function<void(std::size_t, Values&)> get);

  Source* source_ = nullptr;
  SqliteStatement statement_;
};

}  // namespace exchange
