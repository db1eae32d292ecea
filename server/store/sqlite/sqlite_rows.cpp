#include "store/sqlite/sqlite_rows.hpp"

#include <boost/algorithm/string/join.hpp>

#include "base/bursts.hpp"
#include "base/ensure.hpp"

namespace exchange {

struct SqliteRows::Source {
  std::string declaration;
  Values values;  // of the row at the cursor
  std::size_t at = 0, count = 0;
  std::function<void(std::size_t, Values&)> get;

  void move_to(std::size_t row) {
    at = row;
    if (at < count) get(at, values);
  }
};

namespace {

using Source = SqliteRows::Source;

struct Table {
  sqlite3_vtab base;
  Source* source;
};
Source& source_of(sqlite3_vtab_cursor* cursor) {
  return *reinterpret_cast<Table*>(cursor->pVtab)->source;
}

// SQLite calls these functions from C: if memory runs out, the program ends here.
int connect(sqlite3* database, void* source, int, const char* const*, sqlite3_vtab** table,
            char**) noexcept {
  *table = &(new Table{{}, static_cast<Source*>(source)})->base;
  return sqlite3_declare_vtab(database, static_cast<Source*>(source)->declaration.c_str());
}
int disconnect(sqlite3_vtab* table) noexcept {
  delete reinterpret_cast<Table*>(table);
  return SQLITE_OK;
}
int best_index(sqlite3_vtab*, sqlite3_index_info*) noexcept { return SQLITE_OK; }
int open(sqlite3_vtab*, sqlite3_vtab_cursor** cursor) noexcept {
  *cursor = new sqlite3_vtab_cursor{};
  return SQLITE_OK;
}
int close(sqlite3_vtab_cursor* cursor) noexcept {
  delete cursor;
  return SQLITE_OK;
}
int filter(sqlite3_vtab_cursor* cursor, int, const char*, int, sqlite3_value**) noexcept {
  source_of(cursor).move_to(0);
  return SQLITE_OK;
}
int next(sqlite3_vtab_cursor* cursor) noexcept {
  Source& source = source_of(cursor);
  if (source.at % 8 == 0) Bursts::rest_if_due();  // the clock takes a tenth of the time of a row
  source.move_to(source.at + 1);
  return SQLITE_OK;
}
int at_end(sqlite3_vtab_cursor* cursor) noexcept {
  const Source& source = source_of(cursor);
  return source.at >= source.count;
}
int column(sqlite3_vtab_cursor* cursor, sqlite3_context* result, int column) noexcept {
  const SqliteRows::Value& value = source_of(cursor).values[std::size_t(column)];
  if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    sqlite3_result_int64(result, *integer);
  } else {
    const auto& text = std::get<std::string>(value);
    sqlite3_result_text(result, text.data(), int(text.size()), SQLITE_TRANSIENT);
  }
  return SQLITE_OK;
}
int row_id(sqlite3_vtab_cursor* cursor, sqlite3_int64* id) noexcept {
  *id = sqlite3_int64(source_of(cursor).at);
  return SQLITE_OK;
}

// Without xCreate the virtual table exists in every schema of the connection, and SQLite does not
// store it.
const sqlite3_module module = [] {
  sqlite3_module methods{};
  methods.xConnect = connect;
  methods.xDisconnect = disconnect;
  methods.xBestIndex = best_index;
  methods.xOpen = open;
  methods.xClose = close;
  methods.xFilter = filter;
  methods.xNext = next;
  methods.xEof = at_end;
  methods.xColumn = column;
  methods.xRowid = row_id;
  return methods;
}();

}  // namespace

SqliteRows::SqliteRows(SqliteDatabase& database, const std::string& table,
                       const std::vector<std::string>& columns, const std::string& on_conflict) {
  const std::string name = "changed_" + table;
  source_ = new Source;
  source_->values.resize(columns.size());
  const std::string list = boost::join(columns, ", ");  // an operator may have added others
  source_->declaration = "CREATE TABLE x(" + list + ")";
  // The connection deletes the source, even if this call fails.
  database.check(
      sqlite3_create_module_v2(database.handle(), name.c_str(), &module, source_,
                               [](void* source) { delete static_cast<Source*>(source); }));
  // WHERE true tells SQLite's parser that ON CONFLICT does not belong to a join.
  statement_ = SqliteStatement(database, "INSERT INTO " + table + " (" + list + ") SELECT * FROM " +
                                             name + " WHERE true ON CONFLICT " + on_conflict);
}

void SqliteRows::run(std::size_t count, std::function<void(std::size_t, Values&)> get) {
  source_->count = count;
  source_->get = std::move(get);
  statement_.run();
}

}  // namespace exchange
