#pragma once
// SqliteStore keeps the exchange in files beside each other (docs/recovery.md):
//   PATH           the tables (db/sqlite.sql)
//   PATH.journal   the journal (journal_file.hpp)
//   PATH.lock      locked while a server lives; contains the acknowledged mark
//                  (acknowledged_mark.hpp)
//   -wal, -shm     SQLite's write-ahead log of the tables and its index
//   PATH.days      closed days (sqlite_days.hpp)
// Tables and journal have the same random id, so that files of different stores are refused. Every
// commit is synced before it returns.
//
// It owns a connection for the projector and one for the reader, the journal, and the descriptor of
// PATH.lock.

#include <memory>

#include "journal/journal_file.hpp"
#include "store/sqlite/sqlite_rows.hpp"
#include "store/store.hpp"

namespace exchange {

class SqliteStore : public Store {
 public:
  // `journal_block_bytes`: of a new journal.
  explicit SqliteStore(std::string path,
                       std::uint32_t journal_block_bytes = JournalFile::usual_block_bytes)
      : path_(std::move(path)), journal_block_bytes_(journal_block_bytes) {}
  ~SqliteStore() override;

  std::string describe() const override { return "sqlite:" + path_; }
  void open() override;
  TablesImage load() override;
  std::vector<ExecutionRow> newest_executions(std::size_t count) override;
  void read_trades(ExecutionId after,
                   const std::function<void(const Leaderboard::Trade&)>& visit) override;
  void read_journal(BatchNumber after,
                    const std::function<void(const JournalRow&)>& visit) override;
  void append(BatchNumber batch, std::string_view payload) override;
  bool resolve_in_doubt(BatchNumber batch) override;
  void confirm_epoch() override;
  void project(const Rows& rows, BatchNumber batch) override;
  // Checkpoints the tables; then the journal may use blocks again.
  void prune(BatchNumber through) override;
  using Store::read_order;
  std::optional<StoredOrder> read_order(OrderId order, const ExecutionRange& range) override;
  std::vector<EventRow> read_events(AccountNumber account, EventNumber first,
                                    EventNumber last) override;
  Fills read_fills(const FillRange& range) override;
  DayCheck check_day(const std::string& name) override;
  void close_day(const std::string& name) override;

 private:
  std::string journal_path() const { return path_ + ".journal"; }
  // Steps of open(), in this order.
  void lock();
  void check_presence() const;
  void check_log() const;
  void open_journal();
  void open_tables();
  void pair_files();
  void check_reach();
  void check_mark();
  void open_reader();
  void warn_if_public() const;
  void take_epoch();

  void upsert(const Rows& rows);
  void note_commit(BatchNumber batch);
  void checkpoint_projection();
  void prepare_journal();
  void read_executions(StoredOrder& stored, const ExecutionRange& range);
  [[noreturn]] void throw_fenced() const;

  const std::string path_;
  const std::uint32_t journal_block_bytes_;
  int lock_file_ = -1;
  Epoch epoch_ = 0;
  std::string id_;  // of the store; in both files and in the mark

  std::unique_ptr<JournalFile> journal_;  // core thread; the projector's calls are its own
  // Projector thread.
  SqliteDatabase tables_;
  std::array<SqliteRows, boost::mp11::mp_size<MembersOf<Rows>>::value> put_rows_;  // as in Rows
  SqliteStatement put_projection_;
  bool checkpoint_failed_ = false;  // the last one failed, and that was logged
  // What the tables have; and what their file has without its log, at least.
  BatchNumber projected_ = 0, in_file_ = 0;
  // Reader thread.
  SqliteDatabase reader_;
  SqliteStatement get_order_, count_executions_, get_executions_, get_newest_executions_,
      get_events_, get_newest_execution_, get_fills_, get_newest_fills_;
};

}  // namespace exchange
