// The tables that db/sqlite.sql and db/postgresql.sql create are those of store/tables.hpp.

#include "catch.hpp"

#include "store/postgres/postgres_store.hpp"
#include "store/sqlite/sqlite_store.hpp"
#include "store/tables.hpp"
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

}  // namespace

TEST_CASE("the tables of SQLite have the columns of the rows") {
  const TemporaryFolder folder;
  const std::string path = folder / "x.db";
  SqliteStore(path).open();
  SqliteDatabase database(path, SqliteDatabase::Use::read);
  for_each_table([&](const std::string& table, const std::string& names) {
    SqliteStatement columns(database, "SELECT group_concat(name) FROM pragma_table_info(?1)");
    REQUIRE(columns.with(std::string_view(table)).step());
    CHECK(columns.text(0) == names);
  });
}

TEST_CASE("the tables of PostgreSQL have the columns of the rows") {
  const std::string url = shared_cluster().create_database();
  PostgresStore(url).open();
  pqxx::connection connection(url);
  pqxx::nontransaction work(connection);
  for_each_table([&](const std::string& table, const std::string& names) {
    const auto found = work.exec(
        "SELECT string_agg(column_name, ',' ORDER BY ordinal_position)"
        " FROM information_schema.columns WHERE table_name = '" +
        table + "'");
    CHECK(std::string(found[0][0].c_str()) == names);
  });
}
