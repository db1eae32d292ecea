#include "store/sqlite/sqlite_schema.hpp"

#include "base/log.hpp"
#include "journal/store_errors.hpp"
#include "store/schema.hpp"
#include "store/sqlite/page_checksums.hpp"
#include "store/table_traits.hpp"

namespace exchange {
namespace {

std::int64_t integer(SqliteDatabase& database, const char* select) {
  SqliteStatement statement(database, select);
  return statement.step() ? statement.integer(0) : 0;
}

// Creates the schema, with the two numbers of the header that identify a store.
std::string creation() {
  return "BEGIN IMMEDIATE;" + std::string(schema::sqlite) +
         "PRAGMA user_version=" + std::to_string(store_format) +
         ";PRAGMA application_id=" + std::to_string(checksum_application_id) + ";COMMIT";
}

}  // namespace

void bring_up_schema(SqliteDatabase& tables, const std::string& path) {
  if (integer(tables, "SELECT count(*) FROM sqlite_master") == 0)
    return tables.run(creation().c_str());
  if (integer(tables, "SELECT count(*) FROM sqlite_master WHERE name = 'projection'") == 0)
    throw StoreCorrupt(path +
                       " has no table 'projection': it was made or changed by another program; put "
                       "the right file back");
  const std::int64_t format = integer(tables, "PRAGMA user_version");
  require_readable_format(path, format);
  if (integer(tables, "PRAGMA application_id") != checksum_application_id)
    throw StoreCorrupt(path + ": its pages have no checksums; " + restore_store);
  if (format < store_format) bring_up_tables(tables);
}

void bring_up_tables(SqliteDatabase& tables) {
  tables.run("BEGIN IMMEDIATE");
  add_missing_columns(
      [&](const std::string& table) {
        std::set<std::string> names;
        SqliteStatement found(tables, "SELECT name FROM pragma_table_info(?1)");
        for (found.with(std::string_view(table)); found.step();) names.emplace(found.text(0));
        return names;
      },
      [](const Column& column) { return column.text ? "TEXT" : "INTEGER"; },
      [&](const std::string& statement) { tables.run(statement.c_str()); });
  tables.run(schema::sqlite);  // new tables, and indexes of new columns
  tables.run(("PRAGMA user_version=" + std::to_string(store_format) + ";COMMIT").c_str());
}

void make_views(SqliteDatabase& tables) {
  try {
    tables.run("BEGIN IMMEDIATE");
    tables.run(schema::sqlite_views);
    tables.run("COMMIT");
  } catch (const StoreUnavailable& error) {
    tables.rollback();
    log_warning(
        "the SQL views (db/sqlite_views.sql) cannot be created; trading works without them: {}",
        error.what());
  }
}

}  // namespace exchange
