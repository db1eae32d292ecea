#pragma once
// SqliteStore keeps the exchange in files beside each other (docs/recovery.md):
//   PATH           the tables (db/sqlite.sql)
//   PATH.journal   the journal and the fence (db/sqlite_journal.sql)
//   PATH.lock      locked while a server lives; contains the acknowledged mark
//                  (acknowledged_mark.hpp)
//   -wal, -shm     SQLite's write-ahead log and its index, of each database file
// Two databases, since SQLite has one writer per file: the projector's transactions never delay the
// core's commits. Both have the same random id, so that files of different stores are refused.
// Every commit is synced before it returns.
//
// It owns one connection for each thread that uses the store, and the descriptor of PATH.lock.

#include <atomic>

#include "store/sqlite_rows.hpp"
#include "store/store.hpp"

namespace exchange {

class SqliteStore : public Store {
 public:
  explicit SqliteStore(std::string path) : path_(std::move(path)) {}
  ~SqliteStore() override;

  std::string describe() const override { return "sqlite:" + path_; }
  void open() override;
  TablesImage load() override;
  std::vector<ExecutionRow> newest_executions(std::size_t count) override;
  void read_journal(BatchNumber after,
                    const std::function<void(const JournalRow&)>& visit) override;
  void append(BatchNumber batch, std::string_view payload) override;
  bool resolve_in_doubt(BatchNumber batch) override;
  void confirm_epoch() override;
  void project(const Rows& rows, BatchNumber batch) override;
  // Checkpoints the tables; the next append then deletes the rows, at most 1,000 at a time, since
  // the journal file has one writer.
  void prune(BatchNumber through) override;
  std::optional<StoredOrder> read_order(OrderId order) override;

 private:
  std::string journal_path() const { return path_ + ".journal"; }
  // Steps of open(), in this order.
  void lock();
  void check_presence() const;
  void open_journal();
  void open_tables();
  void pair_files();
  bool journal_is_complete();
  void check_mark();
  void open_reader();
  void take_epoch();

  void upsert(const Rows& rows);
  void checkpoint_projection();
  [[noreturn]] void throw_fenced() const;

  const std::string path_;
  int lock_file_ = -1;
  Epoch epoch_ = 0;
  std::string id_;                             // of the store; in both files and in the mark
  std::atomic<BatchNumber> prune_through_{0};  // from projector to core thread; 0: nothing to do

  // Core thread.
  SqliteDatabase journal_;
  SqliteStatement append_, prune_, resolve_, confirm_;
  // Projector thread.
  SqliteDatabase tables_;
  SqliteRows put_accounts_, put_account_keys_, put_symbols_, put_positions_, put_orders_,
      put_references_, put_replacements_, put_executions_;
  SqliteStatement put_projection_;
  bool checkpoint_failed_ = false;  // the last one failed, and that was logged
  // Reader thread.
  SqliteDatabase reader_;
  SqliteStatement get_order_, get_executions_;
};

}  // namespace exchange
