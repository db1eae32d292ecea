// A SQLite store alone: batches appended, projected and pruned, closed orders read back. Prints
// microseconds per order; under `valgrind --tool=callgrind` it counts instructions. Arguments:
// folder, batches (2,000), orders a batch (60).

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "engine/exchange.hpp"
#include "journal/journal_record.hpp"
#include "store/sqlite/sqlite_store.hpp"

using namespace exchange;

int main(int argc, char** argv) {
  if (argc < 2)
    return std::fprintf(stderr, "usage: store_benchmark FOLDER [BATCHES [ORDERS]]\n"), 2;
  const BatchNumber batches = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 2'000;
  const std::uint64_t orders = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 60;
  const std::string path = std::string(argv[1]) + "/store_benchmark.db";
  for (const char* end : {"", "-wal", "-shm", ".journal", ".lock"})
    std::filesystem::remove(path + end);
  SqliteStore store(path);
  store.open();

  Exchange exchange;
  JournalWriter writer;
  const AccountId account("1");
  const SymbolName symbol("S");
  const auto begin = std::chrono::steady_clock::now();
  for (BatchNumber batch = 1; batch <= batches; ++batch) {
    const Timestamp now{std::int64_t(batch) * 1'000};
    writer.begin(now);
    const auto apply = [&](const Command& command) {
      if (changed_state(exchange.apply(command, now))) writer.add(command);
    };
    if (batch == 1) {
      apply(CreateAccount{account, Cash::whole(1'000'000'000'000)});
      apply(PlaceShares{symbol, account, Shares::whole(1'000'000'000)});
    }
    // Pairs that match, so that orders close.
    for (std::uint64_t i = 0; i < orders; ++i)
      apply(PlaceOrder{account, symbol, i % 2 ? Side::buy : Side::sell, Shares::whole(1),
                       Price::whole(100)});
    store.append(batch, writer.finish(exchange.totals()));
    if (batch % 100 == 0) {
      Rows rows;
      const ClosedMark closed = exchange.take_changes(rows);
      store.project(rows, batch);
      exchange.release_closed(closed);
    }
    if (batch % 1'000 == 0 && batch > 1'000) store.prune(batch - 1'000);
  }
  std::uint64_t executions = 0;
  for (OrderId order = 1; order <= exchange.totals().orders; order += 97)
    executions += store.read_order(order)->executions.size();
  const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
  std::printf("%llu orders in %llu batches: %.2f us an order; %llu executions read back\n",
              static_cast<unsigned long long>(batches * orders),
              static_cast<unsigned long long>(batches), took.count() / double(batches * orders),
              static_cast<unsigned long long>(executions));
}
