#pragma once
// SqliteTables are the tables of a store in one SQLite database (db/sqlite.sql). Every projection
// is synced before it returns.
//
// It owns a connection for the projector and one for the reader. The store that owns it opens it in
// steps, because it pairs the tables with a journal. Owner: SqliteStore, or another Store with its
// own journal. Threads: those of Tables.

#include <array>
#include <string>

#include "store/sqlite/sqlite_rows.hpp"
#include "store/tables.hpp"

namespace exchange {

class SqliteTables final : public Tables {
 public:
  explicit SqliteTables(std::string path) : path_(std::move(path)) {}

  // Refuses a file that is older than its log. Call it before open().
  void check_log() const;
  // Opens the tables with the schema of this version, and views.
  void open();
  void open_reader();
  // Returns the id of the store that the tables belong to; empty if they are new.
  std::string id();
  void set_id(const std::string& id);
  // From now on only the server with this epoch can project.
  void take_epoch(Epoch epoch);
  // Closes the files.
  void close();

  TablesImage load() override;
  std::vector<ExecutionRow> newest_executions(std::size_t count) override;
  void read_trades(ExecutionId after,
                   const std::function<void(const Leaderboard::Trade&)>& visit) override;
  void project(const Rows& rows, BatchNumber batch) override;
  // Makes a checkpoint, which moves the log into the file, so that no data is lost even if the log
  // is.
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
  bool checkpoint_failed_ = false;  // the last checkpoint failed, and the log says so
  // The newest batch in the tables, and the newest known to be in their file without its log.
  BatchNumber projected_ = 0, in_file_ = 0;
  // Reader thread.
  SqliteDatabase reader_;
  SqliteStatement get_order_, count_executions_, get_executions_, get_newest_executions_,
      get_events_, get_newest_execution_, get_fills_, get_newest_fills_;
};

}  // namespace exchange
