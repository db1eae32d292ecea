// Rows of a PostgreSQL store that were changed, removed or restored: the next start refuses them
// with a reason, or they make no difference. What each store refuses is in store_contract_test.cpp.

#include "contract/places.hpp"

using namespace exchange;
using namespace exchange::testing;

namespace {

// Five batches, three of them projected.
void fill(Store& store) {
  const std::vector<Command> commands{
      CreateAccount{alice, Cash::whole(1'000), {.log2_n = 14, .r = 8, .p = 1, .salt = {1}}},
      CreateAccount{bob, Cash::whole(10)}, PlaceShares{spy, bob, Shares::whole(10)},
      PlaceOrder{alice, spy, Side::buy, Shares::whole(3), Price::whole(5)},
      PlaceOrder{bob, spy, Side::sell, Shares::whole(2), Price::whole(4)}};
  Exchange exchange;
  for (BatchNumber batch = 1; batch <= commands.size(); ++batch) {
    commit(store, exchange, batch, {commands[batch - 1]});
    if (batch == 4) project(store, exchange, batch);
  }
}

}  // namespace

TEST_CASE("columns that were added by hand make no difference") {
  const std::string url = shared_cluster().create_database();
  PostgresStore store(url);
  store.open();
  store.tables().load();
  for (const char* table : {"accounts", "symbols", "positions", "orders", "executions"})
    run_postgres(url, std::string("ALTER TABLE ") + table + " ADD COLUMN note text");
  fill(store);
  CHECK(run_postgres(url, "SELECT 1 FROM orders WHERE note IS NULL").size() == 1);
  CHECK(store.tables().read_order(1)->row.shares == Shares::whole(3));
}

TEST_CASE("edited rows of PostgreSQL are refused with a reason") {
  const std::string url = shared_cluster().create_database();
  {
    PostgresStore store(url);
    store.open();
    store.tables().load();
    fill(store);
  }
  const auto [sql, said] = GENERATE(table<std::string, std::string>({
      {"SELECT 1", "batch 5"},
      {"UPDATE accounts SET balance_e16 = balance_e16 + 1 WHERE id = '1'", "cash not conserved"},
      {"UPDATE positions SET shares_e8 = 1", "shares not conserved"},
      {"UPDATE orders SET open_e8 = 1", "contradict themselves"},
      {"DELETE FROM accounts WHERE id = '007'", "contradict themselves"},
      {"DELETE FROM journal WHERE batch = 5", "batch 4"},
      {"UPDATE journal SET payload = (SELECT payload FROM journal WHERE batch = 4) WHERE batch = 5",
       "journal batch 5"},
      {"TRUNCATE accounts, account_keys, symbols, positions, orders, order_references, "
       "order_replacements, executions, account_events; "
       "UPDATE projection SET batch = 0, orders = 0, executions = 0,"
       " cash_created_e16 = 0, last_time_us = 0, digest = 0",
       "batch 5"},
  }));
  INFO(sql);
  run_postgres(url, sql);
  const std::string found = start(PostgresStore(url));
  CHECK_THAT(found, contains_text(said));
  if (!found.starts_with("batch ")) CHECK_THAT(found, contains_text("; restore"));
}

TEST_CASE("PostgreSQL without data checksums causes a warning, with them none") {
  const CapturedLog log;
  const std::string url = shared_cluster().create_database();
  PostgresStore(url).open();
  const bool off = run_postgres(url, "SHOW data_checksums")[0][0].as<std::string>() == "off";
  CHECK((log.text().find("runs without data checksums") != std::string::npos) == off);
}
