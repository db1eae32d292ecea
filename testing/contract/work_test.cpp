// The work of a store: what a start reads depends on the open orders, not on the history; and when
// files are written and synced, counted by a VFS above the default one.

#include <sqlite3.h>

#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
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

// Stays registered as the default VFS. It opens the files of SQLite's VFS; only xWrite and xSync
// differ.
class CountingFiles {
 public:
  CountingFiles() : base_(sqlite3_vfs_find(nullptr)), counting_(*base_) {
    counting_.zName = "counting";
    counting_.xOpen = [](sqlite3_vfs*, const char* name, sqlite3_file* file, int flags, int* out) {
      CountingFiles& self = instance();
      const int code = self.base_->xOpen(self.base_, name, file, flags, out);
      if (code != SQLITE_OK || file->pMethods == nullptr) return code;
      const std::lock_guard lock(self.mutex_);
      self.names_[file] = name == nullptr ? "" : name;
      auto [methods, fresh] = self.methods_.try_emplace(file->pMethods, *file->pMethods);
      if (fresh) self.real_[&methods->second] = file->pMethods;
      methods->second.xWrite = write;
      methods->second.xSync = sync;
      file->pMethods = &methods->second;
      return code;
    };
    sqlite3_vfs_register(&counting_, 1);
  }
  static CountingFiles& instance() {
    static CountingFiles files;
    return files;
  }
  struct Counts {
    int writes = 0, syncs = 0;
  };
  // Returns the operations so far on files with this name.
  Counts counts(const std::string& name) {
    const std::lock_guard lock(mutex_);
    return counts_[name];
  }

 private:
  // Counts an operation and returns the methods of SQLite's VFS.
  const sqlite3_io_methods& count(sqlite3_file* file, int Counts::*operation) {
    const std::lock_guard lock(mutex_);
    ++(counts_[names_[file]].*operation);
    return *real_[file->pMethods];
  }
  static int write(sqlite3_file* file, const void* from, int amount, sqlite3_int64 offset) {
    return instance().count(file, &Counts::writes).xWrite(file, from, amount, offset);
  }
  static int sync(sqlite3_file* file, int flags) {
    return instance().count(file, &Counts::syncs).xSync(file, flags);
  }

  sqlite3_vfs* const base_;
  sqlite3_vfs counting_;
  std::mutex mutex_;
  std::map<const sqlite3_io_methods*, sqlite3_io_methods> methods_;      // ours by SQLite's
  std::map<const sqlite3_io_methods*, const sqlite3_io_methods*> real_;  // SQLite's by ours
  std::map<sqlite3_file*, std::string> names_;
  std::map<std::string, Counts> counts_;
};

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

TEST_CASE("SQLite syncs its journal before append returns, and its tables at checkpoints") {
  TemporaryFolder folder;
  const std::string path = folder / "x.db";
  CountingFiles& files = CountingFiles::instance();
  SqliteStore store(path);
  store.open();
  for (BatchNumber batch = 1; batch <= 5; ++batch) {
    const int before = files.counts(path + ".journal").syncs;
    store.journal().append(batch, "payload");
    CHECK(files.counts(path + ".journal").syncs > before);
  }
  const int tables = files.counts(path).syncs, log = files.counts(path + "-wal").syncs;
  store.tables().project(Rows{}, 5);
  CHECK(files.counts(path + "-wal").syncs > log);
  prune(store, 4);
  CHECK(files.counts(path).syncs > tables);
}

TEST_CASE("a commit is one write to the journal, and one sync") {
  TemporaryFolder folder;
  const std::string path = folder / "x.db";
  SqliteStore store(path);
  CountingFiles::instance();
  store.open();
  store.journal().append(1, "payload");
  const auto count = [&] { return CountingFiles::instance().counts(path + ".journal"); };
  const auto before = count();
  store.journal().append(2, std::string(20'000, 'x'));
  CHECK(count().writes - before.writes == 1);
  CHECK(count().syncs - before.syncs == 1);
}

TEST_CASE("a projection is one write to the log, and one sync") {
  TemporaryFolder folder;
  const std::string path = folder / "x.db";
  SqliteStore store(path);
  CountingFiles::instance();
  store.open();
  store.tables().project(one_account(), 1);
  const auto count = [&] { return CountingFiles::instance().counts(path + "-wal"); };
  const auto before = count();
  store.tables().project(one_account(), 2);
  CHECK(count().writes - before.writes == 1);
  CHECK(count().syncs - before.syncs == 1);
}
