// What db/*.sql creates. The tables have the columns of store/table_traits.hpp. The views show the
// same rows in PostgreSQL and SQLite with exact decimals, and are added to a store that was made
// before them.

#include <fstream>
#include <iterator>

#include "contract/places.hpp"
#include "store/postgres/postgres_rows.hpp"
#include "store/sqlite/sqlite_schema.hpp"
#include "store/table_traits.hpp"

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

// Makes the lines comparable: the databases write JSON and times differently.
Lines plain(Lines lines) {
  for (std::string& line : lines) {
    std::erase(line, ' ');
    if (const std::size_t zone = line.find("+00|"); zone != std::string::npos)
      line.replace(zone, 3, "Z");
  }
  return lines;
}

const AccountId carol("3");
const SymbolName abc("ABC");
Timestamp at(std::int64_t microseconds) { return {1'795'256'990'000'000 + microseconds}; }

// Opens the store and projects the results of a script of commands.
void fill(Place& place) {
  Exchange exchange;
  const auto order = [&](const AccountId& account, const SymbolName& symbol, Side side,
                         const char* shares, const char* limit, Timestamp now) {
    const auto outcome = exchange.apply(
        PlaceOrder{account, symbol, side, parse_shares(shares).value, parse_price(limit).value},
        now);
    REQUIRE(std::holds_alternative<Opened>(outcome));
  };
  exchange.apply(CreateAccount{alice, Cash::whole(100'000)}, at(0));
  exchange.apply(CreateAccount{bob, parse_cash("12345678901234567890.1234567890123456").value},
                 at(0));
  exchange.apply(CreateAccount{carol, Cash()}, at(0));
  exchange.apply(PlaceShares{spy, bob, Shares::whole(500)}, at(0));
  exchange.apply(PlaceShares{abc, alice, parse_shares("92233720367.99999999").value}, at(0));
  // 1: takes part twice, 60 stay open
  order(alice, spy, Side::buy, "100", "145.67", at(1));
  order(bob, spy, Side::sell, "40", "140", at(123'456));  // 2: execution 1
  // 3: two thirds are taken
  order(alice, abc, Side::sell, "0.00000003", "0.00000001", at(200'000));
  order(bob, abc, Side::buy, "0.00000002", "7", at(300'007));  // 4: execution 2, at 1e-8
  order(bob, spy, Side::sell, "350.5", "150", at(400'000));    // 5: rests
  // 6: rests at the same price
  order(bob, spy, Side::sell, "99.5", "150", at(400'001));
  // 7: the best ask, and the last of his shares
  order(bob, spy, Side::sell, "10", "149.99999999", at(400'002));
  // 8: its cost has 16 decimals
  order(bob, spy, Side::buy, "1000000000.00000001", "140.00000003", at(400'003));
  order(alice, spy, Side::buy, "2", "145.7", at(400'004));  // 9: the best bid
  order(alice, spy, Side::buy, "1", "100", at(400'005));    // 10: canceled
  exchange.apply(CancelOrder{alice, 10}, at(500'000));
  REQUIRE(changed_state(exchange.apply(
      ReplaceOrder{alice, Side::buy, 9, Shares::whole(1), parse_price("145.7").value},
      at(600'000))));
  exchange.apply(SetInstrument{.symbol = spy,
                               .tick = parse_price("0.05").value,
                               .price_max = parse_price("92233720367.99999999").value,
                               .lot = Shares::whole(10),
                               .trading = Trading::halted},
                 at(700'000));
  project(place.reopen(), exchange, 1);
}

const char* const books = "SELECT symbol, side, price, shares, orders FROM book";
const char* const executions =
    "SELECT id, time, symbol, price, shares, taker, buy_order, sell_order, buy_account, "
    "sell_account FROM tape";
const char* const summaries =
    "SELECT account, balance, reserved, cash, open_orders, positions FROM account_summary ORDER "
    "BY account DESC";
const char* const instruments =
    "SELECT symbol, tick, lot, order_max, price_min, price_max, trading FROM instruments";

const Lines expected_books = {"ABC|sell|0.00000001|0.00000001|1",
                              "SPY|buy|145.7|1|1",
                              "SPY|buy|145.67|60|1",
                              "SPY|buy|140.00000003|1000000000.00000001|1",
                              "SPY|sell|149.99999999|10|1",
                              "SPY|sell|150|450|2"};

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

TEST_CASE("the views hold exactly what a script of commands leads to") {
  const auto place = any_sql_place();
  fill(*place);
  CHECK(place->query(books) == expected_books);
  CHECK(plain(place->query(executions)) ==
        Lines{"2|2026-11-2110:29:50.300007Z|ABC|0.00000001|0.00000002|buy|4|3|007|1",
              "1|2026-11-2110:29:50.123456Z|SPY|145.67|40|sell|1|2|1|007"});
  CHECK(place->query(instruments) ==
        Lines{"ABC||||||open", "SPY|0.05|10|||92233720367.99999999|halted"});
  // Alice has 100000 - 40 x 145.67 + 2e-16 in cash, 60 x 145.67 + 145.7 of it reserved.
  CHECK(plain(place->query(summaries)) ==
        Lines{"3|0|0|0|0|{}",
              "1|85287.3000000000000002|8885.9|94173.2000000000000002|3|"
              R"({"ABC":{"shares":"92233720367.99999996","reserved":"0.00000001"},)"
              R"("SPY":{"shares":"40","reserved":"0"}})",
              "007|12345678761234573686.9234553890123451|140000000030.0000014000000003|"
              "12345678901234573716.9234567890123454|4|"
              R"({"ABC":{"shares":"0.00000002","reserved":"0"},)"
              R"("SPY":{"shares":"0","reserved":"460"}})"});
}

TEST_CASE("the taker on the tape is the order whose place was behind at that time") {
  const auto place = any_sql_place();
  Exchange exchange;
  const auto apply = [&](const Command& command) {
    REQUIRE(changed_state(exchange.apply(command, at(1))));
  };
  const auto buy = [&](int shares, int limit) {
    apply(PlaceOrder{alice, spy, Side::buy, Shares::whole(shares), Price::whole(limit)});
  };
  const auto sell = [&](int shares, int limit) {
    apply(PlaceOrder{alice, spy, Side::sell, Shares::whole(shares), Price::whole(limit)});
  };
  const auto replace = [&](Side side, OrderId order, int shares, int limit) {
    apply(ReplaceOrder{alice, side, order, Shares::whole(shares), Price::whole(limit)});
  };
  apply(CreateAccount{alice, Cash::whole(1'000)});
  apply(PlaceShares{spy, alice, Shares::whole(100)});
  buy(10, 5);                    // 1
  sell(2, 5);                    // 2: execution 1
  sell(3, 7);                    // 3
  replace(Side::buy, 1, 10, 7);  // 4: execution 2, taken by order 1
  replace(Side::buy, 1, 9, 7);   // 5: keeps its place
  sell(1, 6);                    // 6: execution 3
  sell(2, 9);                    // 7
  buy(2, 4);                     // 8
  replace(Side::buy, 1, 10, 4);  // 9: behind order 8
  replace(Side::sell, 7, 2, 4);  // 10: execution 4, taken by order 7 from order 8
  project(place->reopen(), exchange, 1);
  CHECK(place->query("SELECT id, taker, buy_order, sell_order, price FROM tape") ==
        Lines{"4|sell|8|7|4", "3|sell|1|6|7", "2|buy|1|3|7", "1|sell|1|2|5"});
  CHECK(place->query(books) == Lines{"SPY|buy|4|4|1"});
}

TEST_CASE("indexes find the newest rows of the tape, also if an order was replaced often") {
  SECTION("SQLite") {
    SqlitePlace place;
    place.reopen();
    SqliteDatabase database(place.path(), SqliteDatabase::Use::read);
    SqliteStatement plan(database, "EXPLAIN QUERY PLAN SELECT * FROM tape LIMIT 10");
    Lines scans, of_replacements;
    while (plan.step()) {
      const std::string line(plan.text(3));
      if (line.find("SEARCH") == std::string::npos && line.find("SUBQUERY") == std::string::npos)
        scans.push_back(line);
      if (line.find("replacements") != std::string::npos) of_replacements.push_back(line);
    }
    CHECK(scans == Lines{"SCAN executions"});
    CHECK(of_replacements ==
          Lines(2,
                "SEARCH order_replacements USING INDEX places_of_order (order_id=? AND "
                "executions_before<?)"));
  }
  SECTION("PostgreSQL") {
    PostgresPlace place;
    place.reopen();
    place.run(
        "INSERT INTO executions SELECT i, 0, 1, 20001 + i, 1, 1, 1"
        " FROM generate_series(1, 20000) i;"
        "INSERT INTO order_replacements SELECT i, 1, 1, 1, i % 10 > 0, i - 1, 1"
        " FROM generate_series(2, 20001) i;"
        "INSERT INTO orders SELECT i, 0, 0, false, 1, 1, 0, 0, 1, 0"
        " FROM generate_series(20002, 40001) i;"
        "ANALYZE");
    std::string plan;
    for (const std::string& line :
         place.query("EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) SELECT * FROM tape LIMIT 10"))
      plan += line + '\n';
    INFO(plan);
    for (const char* slow : {"Seq Scan on executions", "Seq Scan on orders",
                             "Seq Scan on order_replacements", "Bitmap", "Sort"})
      CHECK(plan.find(slow) == std::string::npos);
    CHECK(plan.find("using places_of_order") != std::string::npos);
  }
}

TEST_CASE("the views of a store without trades are empty") {
  const auto place = any_sql_place();
  place->reopen();
  CHECK(place->query(books).empty());
  CHECK(place->query(executions).empty());
  CHECK(place->query(instruments).empty());
  CHECK(place->query(summaries).empty());
}

TEST_CASE("a position that was sold whole is not in the summary") {
  const auto place = any_sql_place();
  Exchange exchange;
  exchange.apply(CreateAccount{alice, Cash::whole(10)}, at(0));
  exchange.apply(CreateAccount{bob, Cash()}, at(0));
  exchange.apply(PlaceShares{spy, bob, Shares::whole(2)}, at(0));
  exchange.apply(PlaceOrder{bob, spy, Side::sell, Shares::whole(2), Price::whole(3)}, at(1));
  Store& store = place->reopen();
  project(store, exchange, 1);
  CHECK(plain(place->query(summaries)) ==
        Lines{"1|10|0|10|0|{}", R"(007|0|0|0|1|{"SPY":{"shares":"0","reserved":"2"}})"});
  exchange.apply(PlaceOrder{alice, spy, Side::buy, Shares::whole(2), Price::whole(3)}, at(2));
  project(store, exchange, 2);
  CHECK(plain(place->query(summaries)) ==
        Lines{R"(1|4|0|4|0|{"SPY":{"shares":"2","reserved":"0"}})", "007|6|0|6|0|{}"});
}

TEST_CASE("sums beyond 64 bits are exact in the views") {
  const auto place = any_sql_place();
  Exchange exchange;
  exchange.apply(CreateAccount{alice, parse_cash("17014118346046923173167").value}, at(0));
  exchange.apply(CreateSymbol{spy}, at(0));
  const Shares most = parse_shares("92233720367.99999999").value;
  for (int i = 0; i < 3; ++i)  // together more shares than 2^63 of 1e-8
    REQUIRE(std::holds_alternative<Opened>(exchange.apply(
        PlaceOrder{alice, spy, Side::buy, most, parse_price("0.00000001").value}, at(1))));
  // This is the highest amount that one order can reserve; two would exceed all cash.
  REQUIRE(std::holds_alternative<Opened>(exchange.apply(
      PlaceOrder{alice, spy, Side::buy, most, parse_price("92233720367.99999999").value}, at(2))));
  project(place->reopen(), exchange, 1);
  CHECK(place->query(books) == Lines{"SPY|buy|92233720367.99999999|92233720367.99999999|1",
                                     "SPY|buy|0.00000001|276701161103.99999997|3"});
  CHECK(place->query(summaries) ==
        Lines{"1|8507059173124505116820.6627963200000002|"
              "8507059172922418056346.3372036799999998|17014118346046923173167|4|{}"});
}

TEST_CASE("if a user's table has the name of a view, the server warns and opens all the same") {
  const auto place = any_sql_place();
  fill(*place);
  place->run("DROP VIEW book; CREATE TABLE book (isbn text)");
  const CapturedLog log;
  CHECK(place->reopen().tables().load().projected_batch == 1);
  CHECK_THAT(log.text(), contains_text("views.sql"));
  CHECK(place->query("SELECT * FROM book").empty());
  CHECK(place->query(executions).size() == 2);
}

TEST_CASE("a view that a user has built on ours stays when the server starts again") {
  const auto place = any_sql_place();
  fill(*place);
  place->run("CREATE VIEW best_bid AS SELECT symbol, price FROM book WHERE side = 'buy' LIMIT 1");
  const CapturedLog log;
  place->reopen();
  CHECK(log.text().find("views") == std::string::npos);
  CHECK(place->query("SELECT * FROM best_bid") == Lines{"SPY|145.7"});
}

TEST_CASE("PostgreSQL's views with the same text are not created again, which needs no lock") {
  const char* const views =
      "SELECT xmin, oid FROM pg_class WHERE relname IN ('book', 'tape', 'instruments', "
      "'account_summary') ORDER BY 2";
  PostgresPlace place;
  place.reopen();
  const Lines before = place.query(views);
  place.reopen();
  CHECK(before.size() == 4);
  CHECK(place.query(views) == before);
  place.run("COMMENT ON VIEW book IS 'exchange views of an older text'");
  place.reopen();
  const Lines after = place.query(views);
  CHECK(after.size() == 4);
  CHECK(after != before);
}

TEST_CASE("the queries of docs/sql.md run") {
  PostgresPlace place;
  fill(place);
  std::ifstream file(PROJECT_ROOT "/docs/sql.md");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::string begin = "```sql\n", end = "```\n";
  int queries = 0;
  for (std::size_t at = 0; (at = text.find(begin, at)) != std::string::npos; ++queries) {
    at += begin.size();
    const std::string query = text.substr(at, text.find(end, at) - at);
    CAPTURE(query);
    CHECK_FALSE(place.query(query).empty());
  }
  CHECK(queries > 5);
}
