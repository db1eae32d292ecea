// The memory of an audit depends on accounts and the open book, not on history. With
// EXCHANGE_NIGHTLY=1 it uses ten million closed orders.

#include "catch.hpp"

#include "support/folder.hpp"
#include "support/server_process.hpp"
#include "unit/audit/built_store.hpp"

using namespace exchange;
using namespace exchange::testing;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
TEST_CASE("memory of an audit is not measured under sanitizers") {
  WARN("skipped: sanitizers keep freed memory and shadow all");
}
#else
TEST_CASE("an audit of many closed orders needs no memory for them") {
  const OrderId orders = nightly() ? 10'000'000 : 200'000;
  constexpr OrderId orders_of_a_batch = 10'000;
  TemporaryFolder folder;
  const std::string path = folder.path() + "/x.db";
  {
    SqliteStore store(path);
    store.open();
    Writer writer(store);
    const AccountId buyer("1"), seller("2");
    const SymbolName symbol("SPY");
    std::vector<Command> commands = {CreateAccount{buyer, Cash::whole(1'000'000'000)},
                                     CreateAccount{seller, Cash::whole(0)},
                                     PlaceShares{symbol, seller, Shares::whole(100'000'000)}};
    for (OrderId placed = 0; placed < orders; placed += orders_of_a_batch) {
      for (OrderId i = 0; i < orders_of_a_batch; ++i)
        commands.push_back(PlaceOrder{i % 2 == 0 ? seller : buyer, symbol,
                                      i % 2 == 0 ? Side::sell : Side::buy, Shares::whole(1),
                                      Price::whole(1)});
      writer.commit(commands);
      writer.project();
      commands.clear();
    }
  }
  const RunResult result = run_program("exchange-audit", {"sqlite:" + path});
  INFO(result.output);
  CHECK(result.status == 0);
  CHECK_THAT(result.output, contains_text("  orders: " + std::to_string(orders) + "\n"));
  CHECK_THAT(result.output, contains_text("rows compared with the replay: " +
                                          std::to_string(orders + orders / 2 + 6)));
  std::printf("an audit of %llu closed orders took %ld KiB\n",
              static_cast<unsigned long long>(orders), result.memory_kib);
  CHECK(result.memory_kib < 64 * 1024);
}
#endif
