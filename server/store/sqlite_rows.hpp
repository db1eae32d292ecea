#pragma once
// SqliteRows runs one INSERT for many rows: SQL reads them from a table-valued source, a virtual
// table (https://www.sqlite.org/vtab.html) over a vector. Half the time of one statement per row.
// Thread: that of the connection.

#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "store/sqlite.hpp"

namespace exchange {

class SqliteRows {
 public:
  using Value = std::variant<std::int64_t, std::string>;
  using Values = std::vector<Value>;

  SqliteRows() = default;
  // Adds the source `name` with columns c1 to cN to the connection, and prepares `sql`, which
  // selects from it. Throws as SqliteDatabase.
  SqliteRows(SqliteDatabase& database, const std::string& name, std::size_t columns,
             std::string_view sql);

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
