#pragma once
// SqliteTables are the tables of a store in one SQLite database (db/sqlite.sql). Every projection
// is synced before it returns.
//
// It owns a connection for the projector and one for the reader. The store that owns it opens it in
// steps, as it pairs the tables with a journal. Owner: SqliteStore, or another Store with a journal
// of its own. Threads: those of Tables.

#include <array>
#include <string>

#include "store/sqlite/sqlite_rows.hpp"
#include "store/tables.hpp"

namespace exchange {

class SqliteTables final : public Tables {
 public:
  explicit SqliteTables(std::string path) : path_(std::move(path)) {}

  // Refuses a file that is older than its log. Must come before open().
  void check_log() const;
  // With the schema of this version, and views.
  void open();
  void open_reader();
  // The id of the store that they belong to; empty: they are new.
  std::string id();
  void set_id(const std::string& id);
  // From now on only the server with this epoch projects.
  void take_epoch(Epoch epoch);
  // Closes the files.
  void close();

  TablesImage load() override;
  std::vector<ExecutionRow> newest_executions(std::size_t count) override;
  void read_trades(ExecutionId after,
                   const std::function<void(const Leaderboard::Trade&)>& visit) override;
  void project(const Rows& rows, BatchNumber batch) override;
  // Checkpoints: moves the log into the file, so that even the loss of the log loses nothing.
  BatchNumber secure() override;
  BatchNumber projected_batch() override { return projected_; }
  using Tables::read_order;
  std::optional<StoredOrder> read_order(OrderId order, const ExecutionRange& range) override;
  std::vector<EventRow> read_events(AccountNumber account, EventNumber first,
                                    EventNumber last) override;
  Fills read_fills(const FillRange& range) override;

 private:
  void upsert(const Rows& rows);
  void note_commit(BatchNumber batch);
  void checkpoint_projection();
  void read_executions(StoredOrder& stored, const ExecutionRange& range);

  const std::string path_;
  Epoch epoch_ = 0;
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
