#include "store/postgres_store.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <boost/algorithm/hex.hpp>
#include <chrono>
#include <iterator>
#include <thread>
#include <tuple>

#include "base/fail_point.hpp"
#include "store/pqxx_shim.hpp"
#include "store/schema.hpp"
#include "store/stored_text.hpp"

namespace exchange {
namespace {

constexpr long long advisory_lock = 0x45584348;  // "EXCH"; one exchange per database
// until PostgreSQL notices that the server that held the lock has died
constexpr auto lock_wait = std::chrono::seconds(15);
constexpr int schema_version = 1;

// Adds time-outs that the URL does not set, so that a dead network is noticed within some 15
// seconds.
std::string with_timeouts(std::string url) {
  for (const char* setting :
       {"connect_timeout=5", "keepalives_idle=5", "keepalives_interval=2", "keepalives_count=3",
        "tcp_user_timeout=15000", "application_name=exchange"}) {
    const std::string text = setting;
    if (url.find(text.substr(0, text.find('=') + 1)) == std::string::npos)
      url += (url.find('?') == std::string::npos ? "?" : "&") + text;
  }
  return url;
}

// PostgreSQL's text form of bytea: "\\x" and two hex digits a byte.
std::string bytea(std::string_view bytes) {
  std::string hex = "\\x";
  hex.reserve(2 + 2 * bytes.size());
  boost::algorithm::hex_lower(bytes.begin(), bytes.end(), std::back_inserter(hex));
  return hex;
}

std::string from_bytea(std::string_view hex) {
  std::string bytes;
  if (!hex.starts_with("\\x")) throw StoreCorrupt("journal: the payload is not in hex format");
  boost::algorithm::unhex(hex.begin() + 2, hex.end(), std::back_inserter(bytes));
  return bytes;
}

// An array in PostgreSQL's text form, "{1,2,3}": a whole column as one parameter, for unnest().
class ArrayText {
 public:
  ArrayText& operator<<(std::string_view number) {
    (text_ += separator()) += number;
    return *this;
  }
  ArrayText& operator<<(std::int64_t number) {
    return *this << std::string_view(std::to_string(number));
  }
  ArrayText& operator<<(std::uint64_t number) { return *this << std::int64_t(number); }
  ArrayText& operator<<(std::uint32_t number) { return *this << std::int64_t(number); }
  ArrayText& operator<<(bool value) { return *this << std::string_view(value ? "t" : "f"); }
  // In quotes, since a symbol may be named NULL. Ids have letters and digits only: nothing to
  // escape.
  ArrayText& quoted(std::string_view id) {
    ((text_ += separator()) += '"') += id;
    text_ += '"';
    return *this;
  }
  std::string finish() { return text_ += (text_.empty() ? "{}" : "}"); }

 private:
  char separator() const { return text_.empty() ? '{' : ','; }
  std::string text_;
};

Shares shares(const pqxx::field& field) { return Shares::from_units(field.as<std::int64_t>()); }
Price price(const pqxx::field& field) { return Price::from_units(field.as<std::int64_t>()); }
Timestamp timestamp(const pqxx::field& field) { return {field.as<std::int64_t>()}; }
Cash cash(const pqxx::field& field) { return stored_cash(field.c_str()); }

constexpr const char* order_columns =
    "o.id, o.account, o.symbol, o.is_buy, o.shares_e8, o.limit_e8, o.open_e8, o.canceled_e8, o.opened_at_us, o.canceled_at_us";
OrderRow order_row(const pqxx::row& row) {
  return {row[0].as<OrderId>(),
          row[1].as<AccountNumber>(),
          row[2].as<SymbolNumber>(),
          row[3].as<bool>() ? Side::buy : Side::sell,
          shares(row[4]),
          price(row[5]),
          shares(row[6]),
          shares(row[7]),
          timestamp(row[8]),
          timestamp(row[9])};
}

ExecutionRow execution_row(const pqxx::row& row) {
  return {row[0].as<ExecutionId>(), row[1].as<SymbolNumber>(),
          row[2].as<OrderId>(),     row[3].as<OrderId>(),
          shares(row[4]),           price(row[5]),
          timestamp(row[6])};
}

// Statements of the core's connection. They need the schema, so open() prepares them once it
// exists.
void prepare_for_core(pqxx::connection& connection) {
  connection.prepare(
      "append",
      "INSERT INTO journal SELECT $1::bigint, epoch, $3::bytea FROM fence WHERE epoch = $2::bigint");
  connection.prepare("confirm_epoch", "SELECT 1 FROM fence WHERE epoch = $1::bigint");
}

void prepare_for_projector(pqxx::connection& connection) {
  connection.prepare(
      "put_accounts",
      "INSERT INTO accounts SELECT * FROM unnest($1::bigint[], $2::text[], $3::numeric[])"
      " ON CONFLICT (number) DO UPDATE SET balance_e16 = EXCLUDED.balance_e16");
  connection.prepare(
      "put_account_keys",
      "INSERT INTO account_keys SELECT * FROM unnest($1::bigint[], $2::text[]) ON CONFLICT (account) DO NOTHING");
  connection.prepare(
      "put_symbols",
      "INSERT INTO symbols SELECT * FROM unnest($1::bigint[], $2::text[], $3::bigint[])"
      " ON CONFLICT (number) DO UPDATE SET shares_total_e8 = EXCLUDED.shares_total_e8");
  connection.prepare(
      "put_positions",
      "INSERT INTO positions SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[])"
      " ON CONFLICT (account, symbol) DO UPDATE SET shares_e8 = EXCLUDED.shares_e8");
  connection.prepare(
      "put_orders",
      "INSERT INTO orders SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::boolean[], $5::bigint[],"
      " $6::bigint[], $7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[])"
      " ON CONFLICT (id) DO UPDATE SET open_e8 = EXCLUDED.open_e8, canceled_e8 = EXCLUDED.canceled_e8,"
      " canceled_at_us = EXCLUDED.canceled_at_us");
  connection.prepare(
      "put_projection",
      "UPDATE projection SET batch = $1, orders = $2, executions = $3, cash_created_e16 = $4::numeric,"
      " last_time_us = $5, digest = $6");
  connection.prepare("hold_fence",
                     "SELECT batch, orders FROM fence CROSS JOIN projection WHERE epoch = $1"
                     " FOR SHARE OF fence FOR NO KEY UPDATE OF projection");
  connection.prepare("prune", "DELETE FROM journal WHERE batch <= $1");
}

void prepare_for_reader(pqxx::connection& connection) {
  connection.prepare("get_order",
                     std::string("SELECT ") + order_columns + " FROM orders o WHERE id = $1");
  connection.prepare(
      "get_executions",
      "SELECT id, shares_e8, price_e8, time_us FROM executions WHERE buy_order = $1 UNION ALL "
      "SELECT id, shares_e8, price_e8, time_us FROM executions WHERE sell_order = $1 ORDER BY 1");
}

// Whether an error is retryable, by its SQLSTATE class. All others (a missing table, no permission)
// are fatal.
bool is_transient(const std::string& sqlstate) {
  constexpr std::array<const char*, 8> retryable = {
      "08",  // connection
      "23",  // constraint: the batch exists already, resolve_in_doubt() finds whose it is
      "25",  // transaction state, such as a standby that takes no writes
      "40",  // serialization failure, deadlock
      "53",  // resources: disk full, too many connections
      "55",  // lock not available
      "57",  // intervention by an operator: shutdown, canceled statement
      "58",  // system error: I/O
  };
  return sqlstate.empty() || std::any_of(retryable.begin(), retryable.end(), [&](const char* two) {
           return sqlstate.starts_with(two);
         });
}

std::string one_line(const std::exception& error) {
  std::string text = std::string("PostgreSQL: ") + error.what();
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

// Runs `work`; exceptions of libpqxx become those of a store.
template <class Work>
auto translated(Work work) {
  try {
    return work();
  } catch (const pqxx::sql_error& error) {
    if (!is_transient(error.sqlstate())) throw StoreCorrupt(one_line(error));
    throw StoreUnavailable(one_line(error));
  } catch (const pqxx::failure& error) {  // broken connection: in doubt
    throw StoreUnavailable(one_line(error));
  } catch (const pqxx::usage_error& error) {  // libpqxx 6, if the connection was lost before
    throw StoreUnavailable(one_line(error));
  } catch (const pqxx::internal_error& error) {  // libpqxx 6, if it was lost amid COPY
    throw StoreUnavailable(one_line(error));
  } catch (const pqxx::conversion_error& error) {  // a value that no server has written
    throw StoreCorrupt(one_line(error));
  } catch (const pqxx::range_error& error) {
    throw StoreCorrupt(one_line(error));
  }
}

// Creates the views for SQL clients, if those of the database are older. The comment of view `book`
// has a checksum of the text that created them. If it fails (a table of a user has the name of a
// view, a running dump holds its locks), a warning is logged: trading does not need them.
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
    spdlog::warn(
        "the SQL views (db/postgresql_views.sql) cannot be updated; trading works without them: {}",
        one_line(error));
  }
}

// Writes all rows of a table with one prepared statement: each column is one array parameter.
// `add(columns, row)` appends a row to the arrays.
template <std::size_t column_count, class Row, class Add>
void put(pqxx::transaction_base& work, const char* statement, const std::vector<Row>& rows,
         Add add) {
  if (rows.empty()) return;
  std::array<ArrayText, column_count> columns;
  for (const Row& row : rows) add(columns, row);
  std::apply([&](auto&... column) { work.exec_prepared(statement, column.finish()...); }, columns);
}

// COPY of new rows: a third of the time of an INSERT that looks for conflicts. Starts with the
// first row.
class Copy {
 public:
  Copy(pqxx::transaction_base& work, const char* table) : work_(work), table_(table) {}
  template <class... Column>
  void add(Column... columns) {
    if (!stream_) stream_ = copy_into(work_, table_);
    *stream_ << std::array<std::int64_t, sizeof...(Column)>{std::int64_t(columns)...};
  }
  void complete() {
    if (stream_) stream_->complete();
  }

 private:
  pqxx::transaction_base& work_;
  const std::string table_;
  std::unique_ptr<pqxx::stream_to> stream_;
};

// `orders_before`: the number of orders that the tables know of.
void put_rows(pqxx::transaction_base& work, const Rows& rows, OrderId orders_before) {
  put<3>(work, "put_accounts", rows.accounts, [](auto& columns, const AccountRow& row) {
    columns[0] << row.number;
    columns[1].quoted(row.id.view());
    columns[2] << units_text(row.balance.units());
  });
  put<2>(work, "put_account_keys", rows.account_keys, [](auto& columns, const AccountKeyRow& row) {
    columns[0] << row.account;
    columns[1].quoted(key_text(row.key));
  });
  put<3>(work, "put_symbols", rows.symbols, [](auto& columns, const SymbolRow& row) {
    columns[0] << row.number;
    columns[1].quoted(row.name.view());
    columns[2] << row.shares_total.units();
  });
  put<3>(work, "put_positions", rows.positions, [](auto& columns, const PositionRow& row) {
    columns[0] << row.account;
    columns[1] << row.symbol;
    columns[2] << row.shares.units();
  });
  std::vector<OrderRow> known;
  Copy new_orders(work, "orders");
  for (const OrderRow& row : rows.orders) {
    if (row.id <= orders_before)
      known.push_back(row);
    else
      new_orders.add(row.id, row.account, row.symbol, row.side == Side::buy, row.shares.units(),
                     row.limit.units(), row.open.units(), row.canceled.units(),
                     row.opened_at.microseconds, row.canceled_at.microseconds);
  }
  new_orders.complete();
  put<10>(work, "put_orders", known, [](auto& columns, const OrderRow& row) {
    columns[0] << row.id;
    columns[1] << row.account;
    columns[2] << row.symbol;
    columns[3] << (row.side == Side::buy);
    columns[4] << row.shares.units();
    columns[5] << row.limit.units();
    columns[6] << row.open.units();
    columns[7] << row.canceled.units();
    columns[8] << row.opened_at.microseconds;
    columns[9] << row.canceled_at.microseconds;
  });
  fail_point<StoreUnavailable>("projection.amid_rows");
  Copy executions(work, "executions");
  for (const ExecutionRow& row : rows.executions)
    executions.add(row.id, row.symbol, row.buy_order, row.sell_order, row.shares.units(),
                   row.price.units(), row.time.microseconds);
  executions.complete();
}

// --- steps of open() and load(); `database`: its description, for messages ---

void take_advisory_lock(pqxx::connection& connection, const std::string& database) {
  const auto deadline = std::chrono::steady_clock::now() + lock_wait;
  while (!pqxx::nontransaction(connection)
              .exec("SELECT pg_try_advisory_lock(" + std::to_string(advisory_lock) + ")")[0][0]
              .as<bool>()) {
    if (std::chrono::steady_clock::now() > deadline)
      throw StoreFenced(database +
                        " is in use by another server, which holds the advisory lock; stop that "
                        "server, or give this one another --store");
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

// Creates the schema if it is missing and takes a new epoch, in one transaction. Returns the epoch.
Epoch take_epoch(pqxx::connection& connection, const std::string& database) {
  pqxx::work work(connection);
  // Only if a table is missing, since it needs locks that a running pg_dump would deny. The table
  // is the newest one: databases of servers without account keys lack it.
  if (work.exec("SELECT to_regclass('account_keys')")[0][0].is_null())
    work.exec(schema::postgresql);
  const int found = work.exec("SELECT schema_version FROM fence")[0][0].as<int>();
  if (found != schema_version)
    throw StoreCorrupt(database + " was written by another version of the exchange (schema " +
                       std::to_string(found) + ", this server knows " +
                       std::to_string(schema_version) + "); start the server that wrote it");
  const auto epoch =
      work.exec("UPDATE fence SET epoch = epoch + 1 RETURNING epoch")[0][0].as<Epoch>();
  // Waits for appends of an earlier server that are in progress; later ones see the new epoch.
  work.exec("LOCK TABLE journal IN EXCLUSIVE MODE");
  work.commit();
  return epoch;
}

// Settings of the database that weaken durability, which its owner chose.
void warn_of_settings(pqxx::connection& connection, const std::string& database) {
  if (pqxx::nontransaction(connection).exec("SHOW fsync")[0][0].as<std::string>() == "off")
    spdlog::warn(
        "{}: PostgreSQL runs with fsync=off, so acknowledged requests may be lost if its machine fails; set fsync=on",
        database);
  if (pqxx::nontransaction(connection).exec("SHOW data_checksums")[0][0].as<std::string>() == "off")
    spdlog::warn(
        "{}: PostgreSQL runs without data checksums, so damage on its disk may not be detected; to turn them on see docs/recovery.md",
        database);
}

Totals load_totals(pqxx::transaction_base& work, const std::string& database,
                   BatchNumber& projected_batch) {
  const pqxx::result found = work.exec(
      "SELECT batch, orders, executions, cash_created_e16, last_time_us, digest FROM projection");
  if (found.size() != 1)
    throw StoreCorrupt(
        database +
        ": table projection must have one row; restore the database from a backup (docs/recovery.md)");
  const pqxx::row row = found[0];
  projected_batch = row[0].as<BatchNumber>();
  return {row[1].as<OrderId>(), row[2].as<ExecutionId>(), cash(row[3]), timestamp(row[4]),
          std::uint64_t(row[5].as<std::int64_t>())};
}

}  // namespace

// A connection that is made at the first call and dropped when a call fails. Thread: one.
class PostgresStore::Connection {
 public:
  using SetUp = void (*)(pqxx::connection&);
  Connection(std::string url, SetUp set_up) : url_(std::move(url)), set_up_(set_up) {}

  // Returns work(connection). Throws the exceptions of store.hpp; the next call then connects
  // again.
  template <class Work>
  auto with(Work work) {
    return translated([&] {
      try {
        if (!connection_) connect();
        return work(*connection_);
      } catch (...) {
        connection_.reset();
        throw;
      }
    });
  }
  bool connected() const { return connection_ != nullptr; }

 private:
  void connect() {
    connection_ = std::make_unique<pqxx::connection>(url_);
    never_reconnect(*connection_);
    // With keepalives PostgreSQL soon notices if this server dies, and releases its advisory lock.
    pqxx::nontransaction(*connection_)
        .exec(
            "SET lock_timeout = '5s'; SET client_min_messages = warning; SET bytea_output = hex; SET tcp_keepalives_idle = 5;"
            " SET tcp_keepalives_interval = 2; SET tcp_keepalives_count = 3; SET synchronous_commit = on; SET jit = off");
    set_up_(*connection_);
  }

  const std::string url_;
  const SetUp set_up_;
  std::unique_ptr<pqxx::connection> connection_;
};

PostgresStore::PostgresStore(const std::string& url) : url_(with_timeouts(url)) {
  core_ = std::make_unique<Connection>(url_, [](pqxx::connection&) {});
  projector_ = std::make_unique<Connection>(url_, prepare_for_projector);
  reader_ = std::make_unique<Connection>(url_, prepare_for_reader);
}

PostgresStore::~PostgresStore() = default;

std::string PostgresStore::describe() const {
  std::string text = url_.substr(0, url_.find('?'));
  const std::size_t authority = text.find("://") + 3, at = text.find('@', authority),
                    colon = text.find(':', authority);
  if (at != std::string::npos && colon < at) text.erase(colon, at - colon);
  return text;
}

void PostgresStore::throw_fenced() const {
  throw StoreFenced(describe() + ": another server has taken the store over");
}

void PostgresStore::open() {
  core_->with([&](pqxx::connection& connection) {
    take_advisory_lock(connection, describe());
    epoch_ = take_epoch(connection, describe());
    bring_up_views(connection);
    warn_of_settings(connection, describe());
    prepare_for_core(connection);
    fail_point("recovery.epoch_taken");
  });
}

TablesImage PostgresStore::load() {
  return core_->with([this](pqxx::connection& connection) {
    TablesImage image;
    Rows& rows = image.rows;
    SnapshotWork work(connection);
    for (const auto& row :
         work.exec("SELECT number, id, balance_e16 FROM accounts ORDER BY number"))
      rows.accounts.push_back(
          {row[0].as<AccountNumber>(), stored_account_id(row[1].c_str()), cash(row[2])});
    for (const auto& row : work.exec("SELECT account, key_hash FROM account_keys"))
      rows.account_keys.push_back({row[0].as<AccountNumber>(), stored_key(row[1].c_str())});
    for (const auto& row :
         work.exec("SELECT number, name, shares_total_e8 FROM symbols ORDER BY number"))
      rows.symbols.push_back(
          {row[0].as<SymbolNumber>(), stored_symbol_name(row[1].c_str()), shares(row[2])});
    for (const auto& row : work.exec("SELECT account, symbol, shares_e8 FROM positions"))
      rows.positions.push_back(
          {row[0].as<AccountNumber>(), row[1].as<SymbolNumber>(), shares(row[2])});
    for (const auto& row : work.exec(std::string("SELECT ") + order_columns +
                                     " FROM orders o WHERE open_e8 > 0 ORDER BY id"))
      rows.orders.push_back(order_row(row));
    // LATERAL makes the planner look executions up for each open order, even without statistics:
    // the time of a start follows the open orders, not the history.
    const std::string executions =
        "SELECT id, symbol, buy_order, sell_order, shares_e8, price_e8, time_us FROM executions ";
    for (const auto& row : work.exec("SELECT DISTINCT e.* FROM orders o CROSS JOIN LATERAL (" +
                                     executions + "WHERE buy_order = o.id UNION ALL " + executions +
                                     "WHERE sell_order = o.id) e WHERE o.open_e8 > 0 ORDER BY 1"))
      rows.executions.push_back(execution_row(row));
    rows.totals = load_totals(work, describe(), image.projected_batch);
    projected_batch_ = image.projected_batch;
    return image;
  });
}

std::vector<ExecutionRow> PostgresStore::newest_executions(std::size_t count) {
  return core_->with([&](pqxx::connection& connection) {
    std::vector<ExecutionRow> rows;
    pqxx::nontransaction work(connection);
    for (
        const auto& row : work.exec(
            "SELECT id, symbol, buy_order, sell_order, shares_e8, price_e8, time_us FROM executions"
            " ORDER BY id DESC LIMIT " +
            std::to_string(count)))
      rows.push_back(execution_row(row));
    std::reverse(rows.begin(), rows.end());
    return rows;
  });
}

void PostgresStore::read_journal(BatchNumber after,
                                 const std::function<void(const JournalRow&)>& visit) {
  core_->with([&](pqxx::connection& connection) {
    constexpr int rows_at_once = 100;  // a row may have hundreds of kilobytes
    pqxx::work work(connection);
    while (true) {
      const pqxx::result rows = work.exec(
          "SELECT batch, epoch, payload FROM journal WHERE batch > " + std::to_string(after) +
          " ORDER BY batch LIMIT " + std::to_string(rows_at_once));
      if (rows.empty()) return;
      for (const auto& row : rows) {
        after = row[0].as<BatchNumber>();
        visit({after, row[1].as<Epoch>(), from_bytea(row[2].c_str())});
      }
    }
  });
}

void PostgresStore::append(BatchNumber batch, std::string_view payload) {
  if (!core_->connected()) throw StoreUnavailable("PostgreSQL: not connected");
  core_->with([&](pqxx::connection& connection) {
    fail_point<StoreUnavailable>("append.before");
    pqxx::nontransaction work(connection);
    if (work.exec_prepared("append", batch, epoch_, bytea(payload)).affected_rows() != 1)
      throw_fenced();
    fail_point<StoreUnavailable>("append.after_commit");
  });
}

bool PostgresStore::resolve_in_doubt(BatchNumber batch) {
  return core_->with([&](pqxx::connection& connection) {
    fail_point<StoreUnavailable>("resolve.before");
    {
      pqxx::nontransaction work(connection);
      if (work.exec("SELECT epoch FROM fence")[0][0].as<Epoch>() != epoch_) throw_fenced();
      if (!work.exec("SELECT pg_try_advisory_lock(" + std::to_string(advisory_lock) + ")")[0][0]
               .as<bool>())
        throw StoreUnavailable(
            "PostgreSQL: the advisory lock of the lost connection is still held");
    }
    prepare_for_core(connection);
    // Waits for an append of the lost connection that may still be committing.
    pqxx::work work(connection);
    work.exec("LOCK TABLE journal IN EXCLUSIVE MODE");
    const auto newest =
        work.exec(
                "SELECT greatest((SELECT max(batch) FROM journal), (SELECT batch FROM projection))")
            [0][0]
                .as<BatchNumber>();
    if (newest + 1 < batch)
      throw StoreCorrupt(
          describe() + " has lost committed batches (it ends with " + std::to_string(newest) +
          "): was it restored, or failed over to an older copy? Bring the newer database back, or start again to continue from this one without them");
    const pqxx::result row =
        work.exec("SELECT epoch FROM journal WHERE batch = " + std::to_string(batch));
    work.commit();
    fail_point<StoreUnavailable>("resolve.after");
    if (row.empty()) return false;
    if (row[0][0].as<Epoch>() != epoch_) throw_fenced();
    return true;
  });
}

void PostgresStore::confirm_epoch() {
  if (!core_->connected()) throw StoreUnavailable("PostgreSQL: not connected");
  core_->with([&](pqxx::connection& connection) {
    if (pqxx::nontransaction(connection).exec_prepared("confirm_epoch", epoch_).empty())
      throw_fenced();
  });
}

void PostgresStore::project(const Rows& rows, BatchNumber batch) {
  projector_->with([&](pqxx::connection& connection) {
    pqxx::work work(connection);
    // Waits for an attempt of a lost connection that may still be committing.
    const pqxx::result before = work.exec_prepared("hold_fence", epoch_);
    if (before.empty()) throw_fenced();
    const auto projected = before[0][0].as<BatchNumber>();
    if (projected == batch) {  // by an attempt whose outcome was unknown
      projected_batch_ = batch;
      return;
    }
    if (projected != projected_batch_)
      throw StoreCorrupt(describe() +
                         " has lost a projection: was it restored, or failed over to an older copy?"
                         " A restart replays the journal");
    try {
      put_rows(work, rows, before[0][1].as<OrderId>());
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
  projector_->with([&](pqxx::connection& connection) {
    pqxx::nontransaction(connection).exec_prepared("prune", through);
  });
}

std::optional<StoredOrder> PostgresStore::read_order(OrderId order) {
  return reader_->with([&](pqxx::connection& connection) -> std::optional<StoredOrder> {
    // Order and executions come from one snapshot: a projection may commit in between.
    SnapshotWork work(connection);
    const pqxx::result found = work.exec_prepared("get_order", order);
    if (found.empty()) return {};
    StoredOrder stored{order_row(found[0]), {}};
    for (const auto& row : work.exec_prepared("get_executions", order))
      stored.executions.push_back({shares(row[1]), price(row[2]), timestamp(row[3])});
    return stored;
  });
}

}  // namespace exchange
