// The tables that db/sqlite.sql and db/postgresql.sql create are those of store/table_traits.hpp.

#include "catch.hpp"

#include "store/postgres/postgres_rows.hpp"
#include "store/postgres/postgres_store.hpp"
#include "store/sqlite/sqlite_schema.hpp"
#include "store/sqlite/sqlite_store.hpp"
#include "store/table_traits.hpp"
#include "support/folder.hpp"
#include "support/postgres_cluster.hpp"

using namespace exchange;
using namespace exchange::testing;

namespace {

// Calls check(table, "id, account, ...") for each table.
template <class Check>
void for_each_table(Check check) {
  for_each_member<Rows>([&](auto rows) {
    using Row = RowIn<decltype(rows)>;
    std::string names;
    for (const Column& column : columns_of<Row>())
      names += (names.empty() ? "" : ",") + column.name;
    INFO(TableTraits<Row>::name);
    check(std::string(TableTraits<Row>::name), names);
    for (const char* const changing : TableTraits<Row>::changing)
      CHECK(("," + names + ",").find("," + std::string(changing) + ",") != std::string::npos);
  });
}

// Returns statements that drop a last column, which views need, from three tables: a number, a
// text, and a value that only SQLite stores as text. SQLite cannot drop a column behind a comment.
std::string remove_columns(const std::string& end) {
  std::string statements;
  for_each_table([&](const std::string& table, const std::string& names) {
    if (table != "executions" && table != "account_keys" && table != "accounts") return;
    statements +=
        "ALTER TABLE " + table + " DROP COLUMN " + names.substr(names.rfind(',') + 1) + end;
  });
  return statements;
}

}  // namespace

TEST_CASE("the tables of SQLite have the columns of the rows, also if they lacked some") {
  const TemporaryFolder folder;
  const std::string path = folder / "x.db";
  SqliteStore(path).open();
  SqliteDatabase database(path, SqliteDatabase::Use::write);
  if (GENERATE(false, true)) {
    SqliteStatement views(database,
                          "SELECT group_concat('DROP VIEW ' || name || ';', '') FROM sqlite_master"
                          " WHERE type = 'view'");
    REQUIRE(views.step());
    const std::string drop_views(views.text(0));
    views.reset();
    database.run((drop_views + remove_columns(";")).c_str());
    bring_up_tables(database);
  }
  for_each_table([&](const std::string& table, const std::string& names) {
    SqliteStatement columns(database, "SELECT group_concat(name) FROM pragma_table_info(?1)");
    REQUIRE(columns.with(std::string_view(table)).step());
    CHECK(columns.text(0) == names);
  });
}

TEST_CASE("the tables of PostgreSQL have the columns of the rows, also if they lacked some") {
  const std::string url = shared_cluster().create_database();
  PostgresStore(url).open();
  pqxx::connection connection(url);
  pqxx::work work(connection);
  if (GENERATE(false, true)) {
    work.exec(remove_columns(" CASCADE;"));
    bring_up_tables(work);
  }
  for_each_table([&](const std::string& table, const std::string& names) {
    const auto found = work.exec(
        "SELECT string_agg(column_name, ',' ORDER BY ordinal_position)"
        " FROM information_schema.columns WHERE table_name = '" +
        table + "'");
    CHECK(std::string(found[0][0].c_str()) == names);
  });
}
