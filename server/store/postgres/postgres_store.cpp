#include "store/postgres/postgres_store.hpp"

#include <algorithm>
#include <boost/algorithm/string/replace.hpp>
#include <chrono>
#include <regex>
#include <thread>

#include "base/fail_point.hpp"
#include "base/log.hpp"
#include "journal/store_errors.hpp"
#include "store/postgres/postgres_rows.hpp"
#include "store/schema.hpp"
#include "store/table_traits.hpp"

namespace exchange {
namespace {

// "EXCH". The active server holds the advisory lock of this number; each database, and each closed
// day in it, has one such lock. Standby servers share locks of two numbers: this one, and the range
// of the batches from which on they need the journal.
constexpr long long advisory_lock = 0x45584348;
// The upper half of the lock number; 0 unless the store is a closed day.
const std::string lock_class =
    "CASE WHEN starts_with(current_schema()::text, 'day_')"
    " THEN hashtext(current_schema()::text)::bigint & 2147483647 ELSE 0 END";
const std::string lock_number =
    "((" + lock_class + ") << 32 | " + std::to_string(advisory_lock) + ")";
constexpr BatchNumber batches_a_range = 1'024;
// Held while a server creates the schema, because two servers cannot do that at once.
constexpr long long schema_lock = advisory_lock + 1;
// The journal keeps at most this number of batches for a standby server that is behind.
constexpr BatchNumber kept_for_standbys_max = 200'000;
// how long PostgreSQL may take to notice that the server that held the lock has died
constexpr auto lock_wait = std::chrono::seconds(15);

// A statement without effect whose transaction must be replicated before it can commit. It needs no
// privilege and no row lock.
constexpr const char* barrier = "SELECT pg_logical_emit_message(true, 'exchange', '')";

// Selects from pg_locks the lock of an active server, and those of standby servers, whose batch
// range is `objid`.
const std::string advisory_locks =
    "pg_locks WHERE locktype = 'advisory' AND granted AND database ="
    " (SELECT oid FROM pg_database WHERE datname = current_database())";
const std::string active_lock = advisory_locks +
                                " AND objsubid = 1 AND classid::bigint = " + lock_class +
                                " AND objid = " + std::to_string(advisory_lock);
const std::string standby_locks =
    advisory_locks + " AND objsubid = 2 AND classid = " + std::to_string(advisory_lock);
const std::string own_standby_locks = standby_locks + " AND pid = pg_backend_pid()";
const std::string unlock_standby =
    "SELECT pg_advisory_unlock_shared(" + std::to_string(advisory_lock) + ", objid::int) FROM ";

// Statements of the core's connection. They need the schema, so open() prepares them once it
// exists.
void prepare_for_core(pqxx::connection& connection) {
  // PostgreSQL closes a session that is idle for 20 s. A server that hangs keeps its connection
  // open, and so its lock; a server that runs confirms its epoch every second. The time is longer
  // than a second server waits for the lock. PostgreSQL 13 lacks the setting.
  pqxx::nontransaction(connection)
      .exec(
          "SELECT set_config(name, '20s', false) FROM pg_settings "
          "WHERE name = 'idle_session_timeout'");
  connection.prepare("append",
                     "INSERT INTO journal SELECT $1::bigint, epoch, $3::bytea "
                     "FROM fence WHERE epoch = $2::bigint");
  // This is a write, because a primary that was replaced, and has not noticed it yet, answers reads
  // from an old state. No standby is left to confirm its writes.
  connection.prepare("confirm_epoch",
                     std::string(barrier) + " FROM fence WHERE epoch = $1::bigint");
}

void prepare_for_projector(pqxx::connection& connection) {
  prepare_put_rows(connection);
  connection.prepare("put_projection",
                     "UPDATE projection SET batch = $1, orders = $2, executions = $3,"
                     " cash_created_e16 = $4::numeric, last_time_us = $5, digest = $6");
  connection.prepare(
      "hold_fence",
      "SELECT batch, orders, executions, current_setting('synchronous_standby_names')"
      " FROM fence CROSS JOIN projection WHERE epoch = $1"
      " FOR SHARE OF fence FOR NO KEY UPDATE OF projection");
  connection.prepare(
      "prune",
      "DELETE FROM journal WHERE batch <= least($1::bigint, (SELECT min(objid::bigint) * " +
          std::to_string(batches_a_range) + " - 1 FROM " + standby_locks + " AND objid::bigint * " +
          std::to_string(batches_a_range) + " > $1::bigint - " +
          std::to_string(kept_for_standbys_max) + "))");
}

void prepare_for_reader(pqxx::connection& connection) {
  connection.prepare("get_order", "SELECT " + order_columns +
                                      ", batch FROM projection LEFT JOIN orders o ON o.id = $1");
  connection.prepare("get_executions", select_executions("$", false));
  connection.prepare("get_events", select_events("$"));
  connection.prepare("get_newest_execution", "SELECT executions FROM projection");
  connection.prepare("get_fills", select_fills("$", false));
  connection.prepare("get_newest_fills", select_fills("$", true));
  connection.prepare("count_executions", count_executions("$"));
}

// Creates the views for SQL clients if those of the database are older. The comment of view `book`
// has a checksum of the text that created them. If this fails (a table of a user has the name of a
// view, or a running dump holds its locks), it logs a warning: trading does not need the views.
void bring_up_views(pqxx::connection& connection) {
  try {
    pqxx::work work(connection);
    const std::string text_mark =
        work.exec("SELECT 'exchange views ' || md5(" +
                  work.quote(std::string(schema::postgresql_views)) + ")")[0][0]
            .c_str();
    const std::string found =
        work.exec("SELECT coalesce(obj_description(to_regclass('book'), 'pg_class'), '')")[0][0]
            .c_str();
    if (found == text_mark) return;
    work.exec(schema::postgresql_views);
    work.exec("COMMENT ON VIEW book IS " + work.quote(text_mark));
    work.commit();
  } catch (const pqxx::sql_error& error) {
    log_warning(
        "the SQL views (db/postgresql_views.sql) cannot be updated; trading works without them: {}",
        one_line(error));
  }
}

// --- steps of open() and load(); `database`: its description, for messages ---

// Takes the lock once for each session: a failed attempt to open the store may already have it.
bool try_advisory_lock(pqxx::connection& connection) {
  return pqxx::nontransaction(connection)
      .exec("SELECT CASE WHEN EXISTS (SELECT FROM " + active_lock +
            " AND pid = pg_backend_pid()) THEN true ELSE pg_try_advisory_lock" + lock_number +
            " END")[0][0]
      .as<bool>();
}

// Creates the schema in a new database. Returns the format of the tables; throws StoreOtherVersion
// if this server cannot read it.
int bring_up_schema(pqxx::transaction_base& work, const std::string& database) {
  if (work.exec("SELECT to_regclass('fence')")[0][0].is_null()) {
    work.exec("SELECT pg_advisory_xact_lock(" + std::to_string(schema_lock) + ")");
    work.exec(schema::postgresql);
    work.exec("UPDATE fence SET schema_version = " + std::to_string(store_format));
  }
  const int format = work.exec("SELECT schema_version FROM fence")[0][0].as<int>();
  require_readable_format(database, format);
  return format;
}

struct TakenEpoch {
  Epoch epoch;
  bool predecessor_ended;  // if true, it will not answer any more
};

TakenEpoch take_epoch(pqxx::connection& connection, const std::string& database) {
  pqxx::work work(connection);
  const int format = bring_up_schema(work, database);
  const pqxx::result taken =
      work.exec("UPDATE fence SET epoch = epoch + 1 RETURNING epoch, ended_epoch = epoch - 1");
  // Waits for appends of an earlier server that are in progress; later appends see the new epoch.
  work.exec("LOCK TABLE journal IN EXCLUSIVE MODE");
  if (format < store_format) bring_up_tables(work);
  work.commit();
  return {taken[0][0].as<Epoch>(), taken[0][1].as<bool>()};
}

// The tables and views of the store, in the first schema of the search path.
const std::string own_relations = [] {
  const auto names = [](const char* text, const std::string& create) {
    const std::regex name(create + R"( (\w+))");
    const std::string_view all = text;
    std::string list;
    for (auto found = std::cregex_iterator(all.begin(), all.end(), name);
         found != std::cregex_iterator(); ++found)
      list += (list.empty() ? "'" : ", '") + (*found)[1].str() + "'";
    return list;
  };
  return "pg_class WHERE relnamespace = current_schema()::regnamespace AND "
         "(relkind = 'r' AND relname IN (" +
         names(schema::postgresql, "CREATE TABLE IF NOT EXISTS") +
         ") OR relkind = 'v' AND relname IN (" +
         names(schema::postgresql_views, "CREATE OR REPLACE VIEW") + "))";
}();
const std::string has_standby = "EXISTS (SELECT FROM " + standby_locks + ")";
constexpr const char* standby_is_there =
    "a standby server follows this one; stop it, and start it again on the new day";

std::int64_t monotonic_ns() {
  return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Warns of settings of the database, chosen by its owner, that weaken durability.
void warn_of_settings(pqxx::connection& connection, const std::string& database) {
  if (pqxx::nontransaction(connection).exec("SHOW fsync")[0][0].as<std::string>() == "off")
    log_warning(
        "{}: PostgreSQL runs with fsync=off, so acknowledged requests may be lost if its machine "
        "fails; set fsync=on",
        database);
  if (pqxx::nontransaction(connection).exec("SHOW data_checksums")[0][0].as<std::string>() == "off")
    log_warning(
        "{}: PostgreSQL runs without data checksums, so damage on its disk may not be detected; to "
        "turn them on see docs/recovery.md",
        database);
}

Totals load_totals(pqxx::transaction_base& work, const std::string& database,
                   BatchNumber& projected_batch) {
  const pqxx::result found = work.exec(
      "SELECT batch, orders, executions, cash_created_e16, last_time_us, digest FROM projection");
  if (found.size() != 1)
    throw StoreCorrupt(database +
                       ": table projection must have one row; restore the database from a backup "
                       "(docs/recovery.md)");
  const pqxx::row row = found[0];
  projected_batch = row[0].as<BatchNumber>();
  return {row[1].as<OrderId>(), row[2].as<ExecutionId>(), stored_cash(row[3].c_str()),
          Timestamp{row[4].as<std::int64_t>()}, std::uint64_t(row[5].as<std::int64_t>())};
}

}  // namespace

std::string schema_of_day(const std::string& name) {
  return "day_" + boost::replace_all_copy(name, "-", "_");
}

unsigned synchronous_replicas(const std::string& setting) {
  static const std::regex counted(R"(\s*(?:(?:FIRST|ANY)\s+)?(\d+)\s*\(.*)", std::regex::icase);
  std::smatch match;
  if (std::regex_match(setting, match, counted)) return unsigned(std::stoul(match[1]));
  return setting.find_first_not_of(' ') == std::string::npos ? 0 : 1;
}

PostgresStore::PostgresStore(const std::string& url, const StoreLimits& limits)
    : limits_(limits),
      hosts_(url),
      core_(hosts_, limits.answer_max,
            [this](pqxx::connection& connection) { hosts_.require_own_session(connection); }),
      projector_(hosts_, limits.bulk_answer_max, prepare_for_projector),
      reader_(hosts_, limits.answer_max, prepare_for_reader) {}

PostgresStore::~PostgresStore() = default;

void PostgresStore::throw_fenced() const {
  throw StoreFenced(describe() + ": another server has taken the store over");
}

void PostgresStore::open() {
  const auto deadline = std::chrono::steady_clock::now() + lock_wait;
  while (!try_open()) {
    if (std::chrono::steady_clock::now() > deadline)
      throw StoreFenced(describe() +
                        " is in use by another server, which holds the advisory lock; stop that "
                        "server, or give this one another --store");
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

bool PostgresStore::try_open() {
  return core_.with([&](pqxx::connection& connection) {
    if (!try_advisory_lock(connection)) return false;
    require_replicas(connection);
    const TakenEpoch taken = take_epoch(connection, describe());
    const std::int64_t taken_ns = monotonic_ns();
    require_replicas(connection);
    bring_up_views(connection);
    warn_of_settings(connection, describe());
    prepare_for_core(connection);
    fail_point("recovery.epoch_taken");
    if (!taken.predecessor_ended)
      std::this_thread::sleep_for(
          std::chrono::nanoseconds(taken_ns + Lease::wait_ns - monotonic_ns()));
    pqxx::nontransaction(connection).exec(unlock_standby + own_standby_locks);
    epoch_ = taken.epoch;
    return true;
  });
}

void PostgresStore::end_lease() {
  if (!core_.connected()) return;
  try {
    core_.with([&](pqxx::connection& connection) {
      pqxx::nontransaction work(connection);
      work.exec("UPDATE fence SET ended_epoch = epoch WHERE epoch = " + std::to_string(epoch_));
      work.exec("SELECT pg_advisory_unlock" + lock_number);
    });
  } catch (const std::runtime_error& error) {
    log_warning("the next server waits for the end of this one's lease: {}", error.what());
  }
}

DayCheck PostgresStore::check_day(const std::string& name) try {
  const PostgresHosts::Connected connected = hosts_.connect();
  pqxx::nontransaction work(*connected.connection);
  const std::string schema = schema_of_day(name);
  const pqxx::row found =
      work.exec("SELECT to_regclass('" + schema + ".fence') IS NOT NULL, " + "to_regnamespace('" +
                schema + "') IS NOT NULL, " + has_standby +
                ", has_database_privilege(current_database(), 'CREATE')"
                " AND has_schema_privilege(current_schema(), 'CREATE'),"
                " (SELECT bool_and(pg_has_role(relowner, 'USAGE')) FROM " +
                own_relations + ")")[0];
  if (found[0].as<bool>()) return {describe() + "?options=-csearch_path%3D" + schema, {}};
  if (found[1].as<bool>()) return {{}, "a schema " + schema + " exists, and is not a closed day"};
  if (found[2].as<bool>()) return {{}, standby_is_there};
  if (!found[3].as<bool>() || !found[4].as<bool>())
    return {{},
            "the role of the server must own the tables and views, and be able to create "
            "schemas in the database and tables in the schema"};
  return {};
} catch (...) {
  rethrow_translated();
}

// Both epochs continue: a server that was replaced on the closed day cannot append to the new one.
void PostgresStore::close_day(const std::string& name) {
  core_.with([&](pqxx::connection& connection) {
    pqxx::work work(connection);
    work.exec("SET LOCAL lock_timeout = '2s'");  // for readers of the tables, such as pg_dump
    const pqxx::result ended =
        work.exec("UPDATE fence SET ended_epoch = epoch WHERE epoch = " + std::to_string(epoch_));
    if (ended.affected_rows() != 1) throw_fenced();
    const std::string schema = schema_of_day(name);
    work.exec("CREATE SCHEMA " + schema);
    for (const auto& relation : work.exec("SELECT oid::regclass FROM " + own_relations))
      work.exec("ALTER TABLE " + std::string(relation[0].c_str()) + " SET SCHEMA " + schema);
    // A standby takes its lock before it reads the tables: one that is not seen here finds the new
    // tables.
    if (work.exec("SELECT " + has_standby)[0][0].as<bool>())
      throw StoreUnavailable(standby_is_there);
    work.exec(schema::postgresql);
    work.exec(
        "UPDATE fence SET (epoch, ended_epoch, schema_version) ="
        " (SELECT epoch, ended_epoch, schema_version FROM " +
        schema + ".fence)");
    fail_point("day.before_commit");
    work.commit();
    fail_point("day.after_commit");
    pqxx::nontransaction(connection).exec("SELECT pg_advisory_unlock" + lock_number);
  });
}

StoreStatus PostgresStore::status() const {
  return {epoch_, hosts_.failovers(), synchronous_standbys_};
}

ActiveServer PostgresStore::active_server() {
  return core_.with([&](pqxx::connection& connection) {
    const pqxx::result found = pqxx::nontransaction(connection)
                                   .exec("SELECT EXISTS (SELECT FROM " + active_lock +
                                         " AND pid <> pg_backend_pid()), ended_epoch = epoch"
                                         " FROM fence");
    if (found[0][0].as<bool>()) return ActiveServer::there;
    return found[0][1].as<bool>() ? ActiveServer::ended : ActiveServer::gone;
  });
}

void PostgresStore::attach() {
  core_.with([&](pqxx::connection& connection) {
    pqxx::work work(connection);
    work.exec("SET LOCAL lock_timeout = '200ms'");  // the active server waits behind this statement
    if (bring_up_schema(work, describe()) < store_format)
      throw StoreOtherVersion(
          describe() +
          " is served by an earlier version: a standby server"
          " cannot follow it; stop that server and start this one without --standby");
    work.commit();
  });
}

BatchNumber PostgresStore::projected_batch() {
  return core_.with([&](pqxx::connection& connection) {
    const pqxx::result found =
        pqxx::nontransaction(connection)
            .exec("SELECT batch, current_setting('synchronous_standby_names') FROM projection");
    synchronous_standbys_ = synchronous_replicas(found[0][1].c_str());
    projected_batch_ = found[0][0].as<BatchNumber>();
    return projected_batch_.load();
  });
}

// Uses a lock, because it ends with the connection of this server.
void PostgresStore::keep_from(BatchNumber batch) {
  core_.with([&](pqxx::connection& connection) {
    const std::string first = std::to_string(advisory_lock),
                      range = std::to_string(batch / batches_a_range);
    pqxx::nontransaction work(connection);
    // Takes the lock only if this session does not have it yet, because locks are counted.
    work.exec("SELECT pg_advisory_lock_shared(" + first + ", " + range +
              ") WHERE NOT EXISTS (SELECT FROM " + own_standby_locks + " AND objid = " + range +
              ")");
    work.exec(unlock_standby + own_standby_locks + " AND objid <> " + range);
  });
}

// While the setting is not empty, no commit returns before its standbys have it. Patroni and
// administrators may empty it at any time, which ends the waits of commits without a warning. So
// this reads it after each commit.
void PostgresStore::require_replicas(pqxx::connection& connection) {
  if (limits_.replicas_required == 0) return;
  const unsigned found = synchronous_replicas(
      pqxx::nontransaction(connection).exec("SHOW synchronous_standby_names")[0][0].c_str());
  synchronous_standbys_ = found;
  if (found < limits_.replicas_required)
    throw StoreUnavailable(describe() + " replicates commits to " + std::to_string(found) +
                           " synchronous standbys, but --require-replicas asks for " +
                           std::to_string(limits_.replicas_required) +
                           "; set synchronous_standby_names");
}

TablesImage PostgresStore::load() {
  return core_.with(
      [this](pqxx::connection& connection) {
        TablesImage image;
        Rows& rows = image.rows;
        SnapshotWork work(connection);
        const auto read = [&]<class Row>(std::vector<Row>& into, const std::string& select) {
          for (const auto& row : work.exec(select)) into.push_back(read_row<Row>(PostgresRow{row}));
        };
        for_each_table_at_start(rows, read);
        read(rows.orders,
             "SELECT " + order_columns + " FROM orders o WHERE open_e8 > 0 " + order_by_place);
        // LATERAL makes the planner look up executions for each open order, even without
        // statistics: the start time then depends on the open orders, not on the history.
        read(rows.executions, "SELECT DISTINCT " + execution_columns +
                                  " FROM orders o CROSS JOIN LATERAL ("
                                  "SELECT * FROM executions WHERE buy_order = o.id UNION ALL "
                                  "SELECT * FROM executions WHERE sell_order = o.id) e"
                                  " WHERE o.open_e8 > 0 ORDER BY 1");
        read(rows.references, select_newest_references);
        rows.totals = load_totals(work, describe(), image.projected_batch);
        projected_batch_ = image.projected_batch;
        return image;
      },
      limits_.bulk_answer_max);
}

std::vector<ExecutionRow> PostgresStore::newest_executions(std::size_t count) {
  return core_.with(
      [&](pqxx::connection& connection) {
        std::vector<ExecutionRow> rows;
        pqxx::nontransaction work(connection);
        for (const auto& row :
             work.exec("SELECT " + execution_columns +
                       " FROM executions e ORDER BY e.id DESC LIMIT " + std::to_string(count)))
          rows.push_back(read_row<ExecutionRow>(PostgresRow{row}));
        std::reverse(rows.begin(), rows.end());
        return rows;
      },
      limits_.bulk_answer_max);
}

void PostgresStore::read_trades(ExecutionId after,
                                const std::function<void(const Leaderboard::Trade&)>& visit) {
  constexpr std::size_t rows_at_once = 100'000;
  for (bool more = true; more;) {
    const pqxx::result rows = core_.with([&](pqxx::connection& connection) {
      return pqxx::nontransaction(connection)
          .exec(select_trades(after) + " LIMIT " + std::to_string(rows_at_once));
    });
    for (const auto& row : rows) {
      const Leaderboard::Trade trade = read_trade(PostgresRow{row});
      after = trade.id;
      visit(trade);
    }
    more = rows.size() == rows_at_once;
  }
}

void PostgresStore::read(BatchNumber after, const Visit& visit) {
  constexpr std::size_t rows_at_once = 100;  // a row may have hundreds of kilobytes
  for (bool more = true; more;) {
    const std::vector<JournalRow> rows = core_.with([&](pqxx::connection& connection) {
      pqxx::nontransaction work(connection);
      return select_journal(work, "journal", after, rows_at_once);
    });
    for (const JournalRow& row : rows) {
      after = row.batch;
      visit(row);
    }
    more = rows.size() == rows_at_once;
  }
}

void PostgresStore::append(BatchNumber batch, std::string_view payload) {
  if (!core_.connected()) throw StoreUnavailable("PostgreSQL: not connected");
  lease_.renew(core_.with([&](pqxx::connection& connection) {
    fail_point<StoreUnavailable>("append.before");
    const std::int64_t began_ns = monotonic_ns();
    const pqxx::result appended =
        pqxx::nontransaction(connection)
            .exec_prepared("append", batch, epoch_.load(), bytea(payload));
    if (appended.affected_rows() != 1) throw_fenced();
    require_replicas(connection);
    fail_point<StoreUnavailable>("append.after_commit");
    return began_ns;
  }));
}

bool PostgresStore::resolve_in_doubt(BatchNumber batch) {
  return core_.with([&](pqxx::connection& connection) {
    fail_point<StoreUnavailable>("resolve.before");
    const auto epoch =
        pqxx::nontransaction(connection).exec("SELECT epoch FROM fence")[0][0].as<Epoch>();
    if (epoch != epoch_) throw_fenced();
    if (core_.is_new()) {
      if (!try_advisory_lock(connection))
        throw StoreUnavailable(
            "PostgreSQL: the advisory lock of the lost connection is still held");
      prepare_for_core(connection);
    }
    // Wait for an append of the lost connection that may still be committing.
    pqxx::result row;
    {
      pqxx::work work(connection);
      work.exec("LOCK TABLE journal IN EXCLUSIVE MODE");
      const auto newest = work.exec(
                                  "SELECT greatest((SELECT max(batch) FROM journal), "
                                  "(SELECT batch FROM projection))")[0][0]
                              .as<BatchNumber>();
      if (newest + 1 < batch)
        throw StoreCorrupt(
            describe() + " has lost committed batches (it ends with " + std::to_string(newest) +
            "): was it restored, or failed over to an older copy? Bring the newer database back, "
            "or start again to continue from this one without them");
      row = work.exec("SELECT epoch FROM journal WHERE batch = " + std::to_string(batch));
      work.exec(barrier);  // what was read is then replicated
      work.commit();
    }
    require_replicas(connection);
    fail_point<StoreUnavailable>("resolve.after");
    if (row.empty()) return false;
    if (row[0][0].as<Epoch>() != epoch_) throw_fenced();
    return true;
  });
}

void PostgresStore::confirm_epoch() {
  if (!core_.connected()) throw StoreUnavailable("PostgreSQL: not connected");
  const std::int64_t began_ns = monotonic_ns();
  if (lease_.holds(began_ns)) return;
  core_.with([&](pqxx::connection& connection) {
    if (pqxx::nontransaction(connection).exec_prepared("confirm_epoch", epoch_.load()).empty())
      throw_fenced();
    require_replicas(connection);
  });
  lease_.renew(began_ns);
}

void PostgresStore::project(const Rows& rows, BatchNumber batch) {
  projector_.with([&](pqxx::connection& connection) {
    pqxx::work work(connection);
    // Wait for an attempt of a lost connection that may still be committing.
    const pqxx::result before = work.exec_prepared("hold_fence", epoch_.load());
    if (before.empty()) throw_fenced();
    synchronous_standbys_ = synchronous_replicas(before[0][3].c_str());
    const auto projected = before[0][0].as<BatchNumber>();
    if (projected == batch) {  // an attempt whose outcome was unknown did it
      work.exec(barrier);
      work.commit();
      projected_batch_ = batch;
      return;
    }
    if (projected != projected_batch_)
      throw StoreCorrupt(describe() +
                         " has lost a projection: was it restored, or failed over to an older copy?"
                         " A restart replays the journal");
    try {
      put_rows(work, rows, {before[0][1].as<OrderId>(), before[0][2].as<ExecutionId>()});
    } catch (const pqxx::integrity_constraint_violation& error) {  // not retryable
      throw StoreCorrupt(one_line(error) + ": the tables do not take batch " +
                         std::to_string(batch) +
                         "; restore the database from a backup (docs/recovery.md)");
    }
    const Totals& totals = rows.totals;
    work.exec_prepared("put_projection", batch, totals.orders, totals.executions,
                       units_text(totals.cash_created.units()), totals.last_time.microseconds,
                       std::int64_t(totals.digest));
    fail_point<StoreUnavailable>("projection.before_commit");
    work.commit();
    fail_point<StoreUnavailable>("projection.after_commit");
    projected_batch_ = batch;
  });
}

void PostgresStore::prune(BatchNumber through) {
  projector_.with([&](pqxx::connection& connection) {
    pqxx::nontransaction(connection).exec_prepared("prune", through);
  });
}

std::optional<StoredOrder> PostgresStore::read_order(OrderId order, const ExecutionRange& range) {
  return reader_.with([&](pqxx::connection& connection) -> std::optional<StoredOrder> {
    // Order and executions come from one snapshot: a projection may commit in between.
    const BatchNumber projected = projected_batch_;  // before the snapshot
    SnapshotWork work(connection);
    const pqxx::result found = work.exec_prepared("get_order", order);
    if (found.empty() || found[0]["batch"].as<BatchNumber>() < projected)
      throw StoreUnavailable(describe() + " shows older tables than this server has written");
    if (found[0][0].is_null()) return {};
    StoredOrder stored{read_row<OrderRow>(PostgresRow{found[0]}), {}};
    if (range.count == 0) return stored;
    std::uint64_t begin = 0;
    if (!range.is_all()) {
      const auto total = work.exec_prepared("count_executions", order)[0][0].as<std::uint64_t>();
      stored.executions_total = total;
      begin = range.begin(total);
    }
    const std::uint64_t count =
        range.is_all() ? range.count : range.end(stored.executions_total) - begin;
    for (const auto& row : work.exec_prepared("get_executions", order, count, begin))
      stored.executions.push_back({Shares::from_units(row[1].as<std::int64_t>()),
                                   Price::from_units(row[2].as<std::int64_t>()),
                                   Timestamp{row[3].as<std::int64_t>()}});
    if (range.is_all()) stored.executions_total = stored.executions.size();
    return stored;
  });
}

std::vector<EventRow> PostgresStore::read_events(AccountNumber account, EventNumber first,
                                                 EventNumber last) {
  return reader_.with([&](pqxx::connection& connection) {
    std::vector<EventRow> events;
    pqxx::nontransaction work(connection);
    for (const auto& row : work.exec_prepared("get_events", account, first, last))
      events.push_back(read_row<EventRow>(PostgresRow{row}));
    return events;
  });
}

Fills PostgresStore::read_fills(const FillRange& range) {
  return reader_.with([&](pqxx::connection& connection) {
    Fills fills;
    pqxx::nontransaction work(connection);
    // read first: what the tables have now, they also have later
    fills.newest = work.exec_prepared("get_newest_execution")[0][0].as<ExecutionId>();
    for (const auto& row :
         work.exec_prepared(range.newest_first ? "get_newest_fills" : "get_fills", range.account,
                            range.after, range.through, range.executions_max))
      add_fills(fills.list, read_filled_orders(PostgresRow{row}), range.account);
    return fills;
  });
}

}  // namespace exchange
