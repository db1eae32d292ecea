#pragma once
// The embedded store: two SQLite files. PATH holds the tables, PATH.journal the journal, so that
// the projector's transactions never keep the core's commits waiting (SQLite has one writer per
// file). PATH.lock is held while a server lives, and holds the newest acknowledged batch
// (acknowledged_mark.hpp).

#include <atomic>

#include "store/sqlite.hpp"
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
  // Noted here, done by the next append: the journal file has one writer.
  void prune(BatchNumber through) override;
  std::optional<StoredOrder> read_order(OrderId order) override;

 private:
  std::string journal_path() const { return path_ + ".journal"; }
  void lock();
  void check_presence() const;
  void pair_files();
  bool journal_is_complete();
  void check_mark();
  void open_journal();
  void open_tables();
  void open_reader();
  void upsert(const Rows& rows);
  void checkpoint_projection();
  [[noreturn]] void throw_fenced() const;

  const std::string path_;
  int lock_file_ = -1;
  Epoch epoch_ = 0;
  std::string id_;
  std::atomic<BatchNumber> prune_through_{0};

  // Core thread.
  SqliteDatabase journal_;
  SqliteStatement append_, prune_, resolve_, confirm_;
  // Projector thread.
  SqliteDatabase tables_;
  SqliteStatement put_account_, put_account_key_, put_symbol_, put_position_, put_order_,
      put_execution_, put_projection_;
  bool checkpoint_failed_ = false;  // the last one, and that was logged
  // Reader thread.
  SqliteDatabase reader_;
  SqliteStatement get_order_, get_executions_;
};

}  // namespace exchange
