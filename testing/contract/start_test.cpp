// What a start on SQLite looks at: what is open, not what there ever was.

#include <sqlite3.h>

#include <atomic>

#include "catch.hpp"
#include "engine/exchange.hpp"
#include "store/sqlite_store.hpp"
#include "system/folder.hpp"

using namespace exchange;
using exchange::testing::TemporaryFolder;

namespace {

// Steps of SQLite's machine, of all connections that are opened while this lives.
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
      count += std::uint64_t(sqlite3_stmt_status(static_cast<sqlite3_stmt*>(statement), SQLITE_STMTSTATUS_VM_STEP, 1));
      return 0;
    };
    return sqlite3_trace_v2(connection, SQLITE_TRACE_PROFILE, add, nullptr);
  }
};

// For a start with ten open orders, each half filled, and so many that are filled.
std::uint64_t steps_of_start(int filled) {
  TemporaryFolder folder;
  const AccountId buyer("1"), seller("2");
  const SymbolName spy("SPY");
  Exchange exchange;
  for (const AccountId& account : {buyer, seller}) exchange.apply(CreateAccount{account, Cash::whole(1'000'000'000)}, {});
  exchange.apply(PlaceShares{spy, seller, Shares::whole(1'000'000)}, {});
  const auto trade = [&](int price, int bought) {
    exchange.apply(PlaceOrder{seller, spy, Side::sell, Shares::whole(1), Price::whole(price)}, {});
    exchange.apply(PlaceOrder{buyer, spy, Side::buy, Shares::whole(bought), Price::whole(price)}, {});
  };
  for (int i = 0; i < filled / 2; ++i) trade(1, 1);
  for (int i = 0; i < 10; ++i) trade(2 + i, 2);  // above what is open
  {
    SqliteStore store(folder / "x.db");
    store.open();
    Rows rows;
    exchange.take_changes(rows);
    store.project(rows, 1);
  }
  const Steps steps;
  SqliteStore store(folder / "x.db");
  store.open();
  const TablesImage image = store.load();
  CHECK(image.rows.orders.size() == 10);
  CHECK(image.rows.executions.size() == 10);
  CHECK(store.newest_executions(5).size() == 5);
  return Steps::count;
}

}  // namespace

TEST_CASE("a start looks at what is open, however much has been filled") {
  const std::uint64_t few = steps_of_start(10), many = steps_of_start(10'000);
  CHECK(few > 100);
  CHECK(many < few + few / 2);
}
