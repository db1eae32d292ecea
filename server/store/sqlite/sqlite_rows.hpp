#pragma once
// SqliteRows inserts many rows by one statement: SQL reads them from a table-valued source, a
// virtual table (https://www.sqlite.org/vtab.html) over a vector. Half the time of one statement
// per row. Thread: that of the connection.

#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "store/sqlite/sqlite.hpp"

namespace exchange {

class SqliteRows {
 public:
  using Value = std::variant<std::int64_t, std::string>;
  using Values = std::vector<Value>;

  SqliteRows() = default;
  // `columns`: of the table, all of them; `on_conflict`: the end of the INSERT. Adds the source
  // changed_TABLE to the connection. Throws as SqliteDatabase.
  SqliteRows(SqliteDatabase& database, const std::string& table, std::size_t columns,
             const std::string& on_conflict);

  // Runs the statement over all rows. `get(row, values)` assigns the columns of one row.
  template <class Row, class Get>
  void run(const std::vector<Row>& rows, Get get) {
    if (rows.empty()) return;
    run(rows.size(), [&](std::size_t at, Values& values) { get(rows[at], values); });
  }

  struct Source;  // the connection owns it

 private:
  void run(std::size_t count, std::function<void(std::size_t, Values&)> get);

  Source* source_ = nullptr;
  SqliteStatement statement_;
};

}  // namespace exchange
