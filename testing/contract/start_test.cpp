// The work of a start depends on the open orders, not on the history.

#include <sqlite3.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "contract/places.hpp"

using namespace exchange;
using namespace exchange::testing;

namespace {

// Counts the virtual-machine steps of all SQLite connections that are opened while it lives.
class Steps {
 public:
  Steps() {
    count = 0;
    sqlite3_auto_extension(reinterpret_cast<void (*)()>(watch));
  }
  ~Steps() { sqlite3_cancel_auto_extension(reinterpret_cast<void (*)()>(watch)); }
  static inline std::atomic<std::uint64_t> count{0};

 private:
  static int watch(sqlite3* connection, char**, const void*) {
    const auto add = [](unsigned, void*, void* statement, void*) {
      count += std::uint64_t(
          sqlite3_stmt_status(static_cast<sqlite3_stmt*>(statement), SQLITE_STMTSTATUS_VM_STEP, 1));
      return 0;
    };
    return sqlite3_trace_v2(connection, SQLITE_TRACE_PROFILE, add, nullptr);
  }
};

// Makes ten open orders, each half filled, and `filled` orders that are filled. The newest open
// order was replaced `replaced` times, and kept its place each time.
Rows market(int filled, int replaced = 0) {
  const AccountId buyer("1"), seller("2");
  const SymbolName spy("SPY");
  Exchange exchange;
  for (const AccountId& account : {buyer, seller})
    exchange.apply(CreateAccount{account, Cash::whole(1'000'000'000)}, {});
  exchange.apply(PlaceShares{spy, seller, Shares::whole(1'000'000)}, {});
  const auto trade = [&](int price, int bought) {
    exchange.apply(PlaceOrder{seller, spy, Side::sell, Shares::whole(1), Price::whole(price)}, {});
    exchange.apply(PlaceOrder{buyer, spy, Side::buy, Shares::whole(bought), Price::whole(price)},
                   {});
  };
  for (int i = 0; i < filled / 2; ++i) trade(1, 1);
  for (int i = 0; i < 10; ++i) trade(2 + i, 2);  // with ids above those of the open orders
  const OrderId newest = exchange.totals().orders;
  for (int i = 0; i < replaced; ++i)
    exchange.apply(ReplaceOrder{buyer, Side::buy, newest, Shares::whole(2), Price::whole(2 + 9)},
                   {});
  Rows rows;
  exchange.take_changes(rows);
  return rows;
}

void check_start(Store& store) {
  store.open();
  const TablesImage image = store.tables().load();
  CHECK(image.rows.orders.size() == 10);
  CHECK(image.rows.executions.size() == 10);
  CHECK(store.tables().newest_executions(5).size() == 5);
}

std::uint64_t steps_of_start(int filled, int replaced = 0) {
  TemporaryFolder folder;
  {
    SqliteStore store(folder / "x.db");
    store.open();
    store.tables().project(market(filled, replaced), 1);
  }
  const Steps steps;
  SqliteStore store(folder / "x.db");
  check_start(store);
  return Steps::count;
}

}  // namespace

TEST_CASE("a start on SQLite reads what is open, however much has been filled") {
  const std::uint64_t few = steps_of_start(10), many = steps_of_start(10'000);
  CHECK(few > 100);
  CHECK(many < few + few / 2);
}

TEST_CASE(
    "a start on SQLite reads one row for the place of an order, however often it was replaced") {
  const std::uint64_t few = steps_of_start(10, 10), many = steps_of_start(10, 10'000);
  CHECK(few > 100);
  CHECK(many < few + few / 2);
}

TEST_CASE("a start on PostgreSQL reads what is open, even without statistics") {
  const std::string url = shared_cluster().create_database();
  pqxx::connection admin(url);
  const auto ask = [&](const std::string& sql) { return pqxx::nontransaction(admin).exec(sql); };
  const auto count = [&](const std::string& sql) { return ask(sql)[0][0].as<std::int64_t>(); };
  // The steps of a connection are counted when it closes.
  const auto rows_read = [&](const std::string& how, const std::string& table = "executions") {
    while (
        count("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> "
              "pg_backend_pid()") > 0)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return count("SELECT " + how + " FROM pg_stat_user_tables WHERE relname = '" + table + "'");
  };
  {
    PostgresStore store(url);
    store.open();
    ask("ALTER TABLE orders SET (autovacuum_enabled = off)");
    ask("ALTER TABLE executions SET (autovacuum_enabled = off)");
    store.tables().project(market(10'000, 10'000), 1);
  }
  ask("VACUUM order_replacements");
  const std::int64_t by_scan = rows_read("seq_tup_read"), by_index = rows_read("idx_tup_fetch"),
                     replacements = rows_read("seq_tup_read + idx_tup_fetch", "order_replacements");
  {
    PostgresStore store(url);
    check_start(store);
  }
  CHECK(rows_read("seq_tup_read") == by_scan);
  CHECK(rows_read("idx_tup_fetch") - by_index >= 10);
  CHECK(rows_read("idx_tup_fetch") - by_index < 100);
  CHECK(rows_read("seq_tup_read + idx_tup_fetch", "order_replacements") - replacements < 100);
}
