#include "store/sqlite/sqlite_tables.hpp"

#include <algorithm>

#include "base/bursts.hpp"
#include "base/fail_point.hpp"
#include "base/log.hpp"
#include "journal/raw_file.hpp"
#include "store/sqlite/sqlite_log.hpp"
#include "store/sqlite/sqlite_schema.hpp"
#include "store/table_traits.hpp"

namespace exchange {

// Refuses a file that is older than its log, such as one from a backup under a remaining log. Pages
// that a checkpoint moved into the newer file are then missing, and closed orders with them. Must
// run before SQLite opens both, because SQLite would move the log into the wrong file.
void SqliteTables::check_log() const {
  if (!file_has_content(path_) || !file_has_content(log_of(path_))) return;
  const auto read = [&](SqliteDatabase::Use use, const char* column) -> std::optional<BatchNumber> {
    try {
      SqliteDatabase database(path_, use);
      sqlite3_db_config(database.handle(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
      SqliteStatement row(database, std::string("SELECT ") + column + " FROM projection");
      return row.step() ? BatchNumber(row.integer(0)) : 0;
    } catch (const StoreCorrupt&) {  // a power cut in a checkpoint, or damage that is found later
      return {};
    } catch (const StoreUnavailable&) {  // no such table yet
      return 0;
    }
  };
  const auto in_file = read(SqliteDatabase::Use::without_log, "batch");
  const auto needed = read(SqliteDatabase::Use::read, "file_batch");
  if (in_file && needed && *in_file < *needed)
    throw StoreCorrupt(
        log_of(path_) + " is newer than " + path_ + ", which it does not fit (batch " +
        std::to_string(*in_file) + " is in the file, batch " + std::to_string(*needed) +
        " was); put back the log of that time too, or, if the journal reaches back to"
        " the backup, remove the log (docs/recovery.md)");
}

void SqliteTables::open() {
  tables_ = SqliteDatabase(path_, SqliteDatabase::Use::write);
  bring_up_schema(tables_, path_);
  SqliteStatement at(tables_, "SELECT batch, file_batch FROM projection");
  if (at.step()) {
    projected_ = BatchNumber(at.integer(0));
    in_file_ = BatchNumber(at.integer(1));
  }
  at.reset();
  if (tables_.checkpoint()) in_file_ = projected_;
  make_views(tables_);
  std::size_t table = 0;
  for_each_member<Rows>(
      [&](auto rows) { put_rows_[table++] = SqliteRows::into<RowIn<decltype(rows)>>(tables_); });
  put_projection_ = SqliteStatement(
      tables_,
      "UPDATE projection SET batch = ?1, orders = ?2, executions = ?3, cash_created_e16 = ?4,"
      " last_time_us = ?5, digest = ?6, file_batch = ?7 WHERE epoch = ?8");
}

std::string SqliteTables::id() {
  SqliteStatement statement(tables_, "SELECT id FROM store");
  return statement.step() ? std::string(statement.text(0)) : std::string();
}

void SqliteTables::set_id(const std::string& id) {
  SqliteStatement(tables_, "INSERT INTO store VALUES (1, ?)").with(std::string_view(id)).run();
}

void SqliteTables::take_epoch(Epoch epoch) {
  epoch_ = epoch;
  SqliteStatement(tables_, "UPDATE projection SET epoch = ?1, file_batch = ?2")
      .with(epoch_, in_file_)
      .run();
}

void SqliteTables::close() {
  put_rows_ = {};
  for (SqliteStatement* const statement : {&put_projection_, &get_order_, &count_executions_,
                                           &get_executions_, &get_newest_executions_, &get_events_,
                                           &get_newest_execution_, &get_fills_, &get_newest_fills_})
    *statement = SqliteStatement();
  reader_ = SqliteDatabase();
  tables_ = SqliteDatabase();
}

void SqliteTables::open_reader() {
  reader_ = SqliteDatabase(path_, SqliteDatabase::Use::read);
  get_order_ =
      SqliteStatement(reader_, "SELECT " + order_columns + " FROM orders o WHERE o.id = ?1");
  get_events_ = SqliteStatement(reader_, select_events("?"));
  get_newest_execution_ = SqliteStatement(reader_, "SELECT executions FROM projection");
  get_fills_ = SqliteStatement(reader_, select_fills("?", false));
  get_newest_fills_ = SqliteStatement(reader_, select_fills("?", true));
  get_executions_ = SqliteStatement(reader_, select_executions("?", false));
  get_newest_executions_ = SqliteStatement(reader_, select_executions("?", true));
  // A read for HTTP processes long orders in bursts (core/order_reader.cpp).
  constexpr int instructions = 1'000;  // of SQLite's machine, some 50 us
  sqlite3_progress_handler(
      reader_.handle(), instructions,
      [](void*) {
        Bursts::rest_if_due();
        return 0;
      },
      nullptr);
  count_executions_ = SqliteStatement(reader_, count_executions("?"));
}

TablesImage SqliteTables::load() {
  TablesImage image;
  const auto read = [&]<class Row>(std::vector<Row>& rows, const std::string& select) {
    for (SqliteStatement s(tables_, select); s.step();) rows.push_back(read_row<Row>(s));
  };
  Rows& rows = image.rows;
  for_each_table_at_start(rows, read);
  read(rows.orders,
       "SELECT " + order_columns + " FROM orders o WHERE open_e8 > 0 " + order_by_place);
  // CROSS JOIN fixes the order of the loops: from open orders to their executions. The planner
  // would choose the other order and read every execution of the history.
  const auto executions_of_open = [](const char* which) {
    return "SELECT " + execution_columns + " FROM orders o CROSS JOIN executions e ON e." + which +
           " = o.id WHERE o.open_e8 > 0";
  };
  read(rows.executions, executions_of_open("buy_order") + " UNION " +
                            executions_of_open("sell_order") + " ORDER BY 1");
  read(rows.references, select_newest_references);
  SqliteStatement s(
      tables_,
      "SELECT batch, orders, executions, cash_created_e16, last_time_us, digest FROM projection");
  if (!s.step())
    throw StoreCorrupt(
        path_ +
        " has no row in table projection; restore the store from a backup (docs/recovery.md)");
  image.projected_batch = BatchNumber(s.integer(0));
  rows.totals = {OrderId(s.integer(1)), ExecutionId(s.integer(2)), stored_cash(s.text(3)),
                 Timestamp{s.integer(4)}, std::uint64_t(s.integer(5))};
  return image;
}

std::vector<ExecutionRow> SqliteTables::newest_executions(std::size_t count) {
  std::vector<ExecutionRow> rows;
  SqliteStatement s(
      tables_, "SELECT " + execution_columns + " FROM executions e ORDER BY e.id DESC LIMIT ?1");
  for (s.with(count); s.step();) rows.push_back(read_row<ExecutionRow>(s));
  std::reverse(rows.begin(), rows.end());
  return rows;
}

void SqliteTables::read_trades(ExecutionId after,
                               const std::function<void(const Leaderboard::Trade&)>& visit) {
  for (SqliteStatement s(tables_, select_trades(after)); s.step();) visit(read_trade(s));
}

void SqliteTables::project(const Rows& rows, BatchNumber batch) {
  try {
    tables_.run("BEGIN IMMEDIATE");
    upsert(rows);
    const Totals& totals = rows.totals;
    const std::string cash_created = units_text(totals.cash_created.units());
    const int updated =
        put_projection_
            .with(batch, totals.orders, totals.executions, std::string_view(cash_created),
                  totals.last_time.microseconds, totals.digest, in_file_, epoch_)
            .run();
    if (updated != 1) throw StoreFenced(path_ + ": another server has taken the store over");
    fail_point<StoreUnavailable>("projection.before_commit");
    tables_.run("COMMIT");
    note_commit(batch);
    fail_point<StoreUnavailable>("projection.after_commit");
  } catch (const SqliteConstraint& error) {  // not retryable
    tables_.rollback();
    throw StoreCorrupt(std::string(error.what()) + ": the tables do not take batch " +
                       std::to_string(batch) + "; " + restore_store);
  } catch (...) {
    tables_.rollback();
    throw;
  }
  checkpoint_projection();
}

void SqliteTables::note_commit(BatchNumber batch) {
  const SqliteDatabase::LogTurn turn = tables_.take_log_turn();
  if (turn.began_again) in_file_ = std::max(in_file_, projected_);
  projected_ = batch;
  if (turn.is_in_file) in_file_ = batch;
}

// A failed checkpoint is not a failed projection: committed rows are durable in the log, and stay
// there until a checkpoint succeeds. This logs the failure once.
void SqliteTables::checkpoint_projection() {
  try {
    tables_.check_checkpoint();
    checkpoint_failed_ = false;
  } catch (const StoreUnavailable& error) {
    if (!checkpoint_failed_)
      log_error("checkpoint failed, {} grows until one succeeds: {}", log_of(path_), error.what());
    checkpoint_failed_ = true;
  }
}

BatchNumber SqliteTables::secure() {
  if (tables_.checkpoint()) in_file_ = projected_;
  return in_file_;
}

void SqliteTables::upsert(const Rows& rows) {
  std::size_t table = 0;
  for_each_member<Rows>([&](auto of_table) {
    if constexpr (std::same_as<RowIn<decltype(of_table)>, ExecutionRow>)
      fail_point<StoreUnavailable>("projection.amid_rows");
    put_rows_[table++].run(rows.*of_table.pointer);
  });
}

// Order and executions come from one snapshot: a projection may commit in between.
std::optional<StoredOrder> SqliteTables::read_order(OrderId order, const ExecutionRange& range) {
  reader_.run("BEGIN");
  try {
    std::optional<StoredOrder> stored;
    if (get_order_.with(order).step()) stored = {read_row<OrderRow>(get_order_), {}};
    get_order_.reset();
    if (stored && range.count > 0) read_executions(*stored, range);
    reader_.run("COMMIT");
    return stored;
  } catch (...) {
    get_order_.reset();
    count_executions_.reset();
    get_executions_.reset();
    get_newest_executions_.reset();
    reader_.rollback();
    throw;
  }
}

std::vector<EventRow> SqliteTables::read_events(AccountNumber account, EventNumber first,
                                                EventNumber last) {
  std::vector<EventRow> events;
  try {
    for (get_events_.with(account, first, last); get_events_.step();)
      events.push_back(read_row<EventRow>(get_events_));
  } catch (...) {
    get_events_.reset();
    throw;
  }
  return events;
}

Fills SqliteTables::read_fills(const FillRange& range) {
  Fills fills;
  SqliteStatement& get = range.newest_first ? get_newest_fills_ : get_fills_;
  try {
    // read first: what the tables have now, they also have later
    if (get_newest_execution_.step()) fills.newest = ExecutionId(get_newest_execution_.integer(0));
    get_newest_execution_.reset();
    for (get.with(range.account, range.after, range.through, range.executions_max); get.step();)
      add_fills(fills.list, read_filled_orders(get), range.account);
  } catch (...) {
    get_newest_execution_.reset();
    get.reset();
    throw;
  }
  return fills;
}

void SqliteTables::read_executions(StoredOrder& stored, const ExecutionRange& range) {
  const OrderId order = stored.row.id;
  std::uint64_t begin = 0, count = range.count;
  if (!range.is_all()) {
    count_executions_.with(order).step();
    stored.executions_total = std::uint64_t(count_executions_.integer(0));
    count_executions_.reset();
    begin = range.begin(stored.executions_total);
    count = range.end(stored.executions_total) - begin;
  }
  // SQLite steps over skipped executions, so start from the nearer end.
  const bool from_newest = begin > stored.executions_total / 2;
  SqliteStatement& get = from_newest ? get_newest_executions_ : get_executions_;
  const std::uint64_t skipped = from_newest ? stored.executions_total - begin - count : begin;
  for (get.with(order, count, skipped); get.step();)
    stored.executions.push_back({Shares::from_units(get.integer(1)),
                                 Price::from_units(get.integer(2)), Timestamp{get.integer(3)}});
  if (from_newest) std::reverse(stored.executions.begin(), stored.executions.end());
  if (range.is_all()) stored.executions_total = stored.executions.size();
}

}  // namespace exchange
