#include "store/postgres_store.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <boost/algorithm/hex.hpp>
#include <chrono>
#include <iterator>
#include <thread>

#include "base/fail_point.hpp"
#include "store/pqxx_shim.hpp"
#include "store/schema.hpp"
#include "store/stored_text.hpp"

namespace exchange {
namespace {

constexpr long long advisory_lock = 0x45584348;  // one exchange per database
// for the backend of a server that just died
constexpr auto lock_wait = std::chrono::seconds(15);
constexpr int schema_version = 1;

// Bounds on how long a dead network goes unnoticed, where the user has not set their own.
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

std::string bytea(std::string_view bytes) {
  std::string hex = "\\x";
  hex.reserve(2 + 2 * bytes.size());
  boost::algorithm::hex_lower(bytes.begin(), bytes.end(), std::back_inserter(hex));
  return hex;
}

std::string from_bytea(std::string_view hex) {
  std::string bytes;
  if (!hex.starts_with("\\x")) throw StoreCorrupt("the journal's payload is not in hex format");
  boost::algorithm::unhex(hex.begin() + 2, hex.end(), std::back_inserter(bytes));
  return bytes;
}

// "{1,2,3}": one parameter for a whole column, unpacked by unnest().
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
  // Quoted: a symbol may be called NULL. Ids hold letters and digits only.
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

// Needs the journal table, so not when the connection is made.
void prepare_for_core(pqxx::connection& connection) {
  connection.prepare(
      "append",
      "INSERT INTO journal SELECT $1::bigint, epoch, $3::bytea FROM fence WHERE epoch = $2::bigint");
  connection.prepare("confirm_epoch", "SELECT 1 FROM fence WHERE epoch = $1::bigint");
}

// Whether an error of this SQLSTATE class may be over later: connection, resources, intervention by
// an operator, a lock or a conflict, a duplicate batch (settled by its number). Else something is
// wrong for good.
bool is_transient(const std::string& sqlstate) {
  for (const char* prefix : {"08", "53", "57", "58", "55", "40", "23", "25"})
    if (sqlstate.starts_with(prefix)) return true;
  return sqlstate.empty();
}

std::string one_line(const std::exception& error) {
  std::string text = std::string("PostgreSQL: ") + error.what();
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

// Runs `work`; what libpqxx throws becomes what a store throws.
template <class Work>
auto translated(Work work) {
  try {
    return work();
  } catch (const pqxx::sql_error& error) {
    if (!is_transient(error.sqlstate())) throw StoreCorrupt(one_line(error));
    throw StoreUnavailable(one_line(error));
  } catch (const pqxx::failure& error) {  // broken connection, in doubt
    throw StoreUnavailable(one_line(error));
  } catch (
      const pqxx::usage_error& error) {  // libpqxx 6 says so of a connection that was lost before
    throw StoreUnavailable(one_line(error));
  } catch (const pqxx::conversion_error& error) {  // a value that we never wrote
    throw StoreCorrupt(one_line(error));
  } catch (const pqxx::range_error& error) {
    throw StoreCorrupt(one_line(error));
  }
}

// The views are for people: where they cannot be brought up (somebody's table is called `tape`, a
// dump holds its locks), trading goes on without. Their comment tells whether they are of this
// text.
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
    spdlog::warn("the views of db/postgresql_views.sql are not brought up: {}", one_line(error));
  }
}

void put_rows(pqxx::transaction_base& work, const Rows& rows) {
  if (!rows.accounts.empty()) {
    ArrayText number, id, balance;
    for (const AccountRow& row : rows.accounts) {
      number << row.number;
      id.quoted(row.id.view());
      balance << units_text(row.balance.units());
    }
    work.exec_prepared("put_accounts", number.finish(), id.finish(), balance.finish());
  }
  if (!rows.account_keys.empty()) {
    ArrayText account, key;
    for (const AccountKeyRow& row : rows.account_keys) {
      account << row.account;
      key.quoted(key_text(row.key));
    }
    work.exec_prepared("put_account_keys", account.finish(), key.finish());
  }
  if (!rows.symbols.empty()) {
    ArrayText number, name, total;
    for (const SymbolRow& row : rows.symbols) {
      number << row.number;
      name.quoted(row.name.view());
      total << row.shares_total.units();
    }
    work.exec_prepared("put_symbols", number.finish(), name.finish(), total.finish());
  }
  if (!rows.positions.empty()) {
    ArrayText account, symbol, count;
    for (const PositionRow& row : rows.positions) {
      account << row.account;
      symbol << row.symbol;
      count << row.shares.units();
    }
    work.exec_prepared("put_positions", account.finish(), symbol.finish(), count.finish());
  }
  if (!rows.orders.empty()) {
    ArrayText id, account, symbol, is_buy, count, limit, open, canceled, opened_at, canceled_at;
    for (const OrderRow& row : rows.orders) {
      id << row.id;
      account << row.account;
      symbol << row.symbol;
      is_buy << (row.side == Side::buy);
      count << row.shares.units();
      limit << row.limit.units();
      open << row.open.units();
      canceled << row.canceled.units();
      opened_at << row.opened_at.microseconds;
      canceled_at << row.canceled_at.microseconds;
    }
    work.exec_prepared("put_orders", id.finish(), account.finish(), symbol.finish(),
                       is_buy.finish(), count.finish(), limit.finish(), open.finish(),
                       canceled.finish(), opened_at.finish(), canceled_at.finish());
  }
  fail_point<StoreUnavailable>("projection.amid_rows");
  if (!rows.executions.empty()) {
    ArrayText id, symbol, buy, sell, count, price_, time;
    for (const ExecutionRow& row : rows.executions) {
      id << row.id;
      symbol << row.symbol;
      buy << row.buy_order;
      sell << row.sell_order;
      count << row.shares.units();
      price_ << row.price.units();
      time << row.time.microseconds;
    }
    work.exec_prepared("put_executions", id.finish(), symbol.finish(), buy.finish(), sell.finish(),
                       count.finish(), price_.finish(), time.finish());
  }
}

}  // namespace

// A connection that is made when first needed and dropped when it fails.
class PostgresStore::Connection {
 public:
  using SetUp = void (*)(pqxx::connection&);
  Connection(std::string url, SetUp set_up) : url_(std::move(url)), set_up_(set_up) {}

  // work(connection); after a failure the next call connects afresh.
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
    // The keepalives let the server notice soon that we are gone, and give our advisory lock back.
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
  projector_ = std::make_unique<Connection>(url_, [](pqxx::connection& connection) {
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
        "put_executions",
        "INSERT INTO executions SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[],"
        " $5::bigint[], $6::bigint[], $7::bigint[]) ON CONFLICT (id) DO NOTHING");
    connection.prepare(
        "put_projection",
        "UPDATE projection SET batch = $1, orders = $2, executions = $3, cash_created_e16 = $4::numeric,"
        " last_time_us = $5, digest = $6 WHERE batch IN ($1, $7)");
    connection.prepare("hold_fence", "SELECT epoch FROM fence WHERE epoch = $1 FOR SHARE");
    connection.prepare("prune", "DELETE FROM journal WHERE batch <= $1");
  });
  reader_ = std::make_unique<Connection>(url_, [](pqxx::connection& connection) {
    connection.prepare("get_order",
                       std::string("SELECT ") + order_columns + " FROM orders o WHERE id = $1");
    connection.prepare(
        "get_executions",
        "SELECT id, shares_e8, price_e8, time_us FROM executions WHERE buy_order = $1 UNION ALL "
        "SELECT id, shares_e8, price_e8, time_us FROM executions WHERE sell_order = $1 ORDER BY 1");
  });
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
    const auto deadline = std::chrono::steady_clock::now() + lock_wait;
    while (!pqxx::nontransaction(connection)
                .exec("SELECT pg_try_advisory_lock(" + std::to_string(advisory_lock) + ")")[0][0]
                .as<bool>()) {
      if (std::chrono::steady_clock::now() > deadline)
        throw StoreFenced(describe() + " is in use by another server (it holds the advisory lock)");
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    pqxx::work work(connection);
    // Only where it is missing: it needs locks that a running pg_dump would deny. Before accounts
    // had keys, it was without their table.
    if (work.exec("SELECT to_regclass('account_keys')")[0][0].is_null())
      work.exec(schema::postgresql);
    const int found = work.exec("SELECT schema_version FROM fence")[0][0].as<int>();
    if (found != schema_version)
      throw StoreCorrupt(describe() + " was written by another version of the exchange (schema " +
                         std::to_string(found) + ", this server knows " +
                         std::to_string(schema_version) + "); start the server that wrote it");
    epoch_ = work.exec("UPDATE fence SET epoch = epoch + 1 RETURNING epoch")[0][0].as<Epoch>();
    // Appends of an earlier server that are under way end here; later ones see the new epoch.
    work.exec("LOCK TABLE journal IN EXCLUSIVE MODE");
    work.commit();
    bring_up_views(connection);
    if (pqxx::nontransaction(connection).exec("SHOW fsync")[0][0].as<std::string>() == "off")
      spdlog::warn(
          "{} runs with fsync=off: what is acknowledged may be lost when its machine fails",
          describe());
    if (pqxx::nontransaction(connection).exec("SHOW data_checksums")[0][0].as<std::string>() ==
        "off")
      spdlog::warn(
          "{} runs without data checksums: damage on its disk may go unseen; docs/recovery.md says how to turn them on",
          describe());
    prepare_for_core(connection);
    fail_point("recovery.epoch_taken");
  });
}

TablesImage PostgresStore::load() {
  return core_->with([this](pqxx::connection& connection) {
    TablesImage image;
    Rows& rows = image.rows;
    pqxx::work work(connection);
    work.exec("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ");
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
    // LATERAL, as these are to be looked up for each open order, whatever the planner knows: a
    // start follows what is open, not history.
    const std::string executions =
        "SELECT id, symbol, buy_order, sell_order, shares_e8, price_e8, time_us FROM executions ";
    for (const auto& row : work.exec("SELECT DISTINCT e.* FROM orders o CROSS JOIN LATERAL (" +
                                     executions + "WHERE buy_order = o.id UNION ALL " + executions +
                                     "WHERE sell_order = o.id) e WHERE o.open_e8 > 0 ORDER BY 1"))
      rows.executions.push_back(execution_row(row));
    const pqxx::result found = work.exec(
        "SELECT batch, orders, executions, cash_created_e16, last_time_us, digest FROM projection");
    if (found.size() != 1)
      throw StoreCorrupt(
          describe() +
          ": table projection must have one row; restore the database from a backup (docs/recovery.md)");
    const pqxx::row row = found[0];
    image.projected_batch = projected_batch_ = row[0].as<BatchNumber>();
    rows.totals = {row[1].as<OrderId>(), row[2].as<ExecutionId>(), cash(row[3]), timestamp(row[4]),
                   std::uint64_t(row[5].as<std::int64_t>())};
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
    constexpr int rows_at_once = 100;  // a row can have hundreds of kilobytes
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
        throw StoreUnavailable("PostgreSQL: the lock of our lost connection is still held");
    }
    prepare_for_core(connection);
    // Waits for an append of our lost connection that may still be committing.
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
          "): restored or failed over? Bring the newer database back, or start again to go on from this one without them");
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
    if (work.exec_prepared("hold_fence", epoch_).empty()) throw_fenced();
    try {
      put_rows(work, rows);
    } catch (const pqxx::integrity_constraint_violation& error) {  // waiting does not mend it
      throw StoreCorrupt(one_line(error) + ": the tables do not take batch " +
                         std::to_string(batch) +
                         "; restore the database from a backup (docs/recovery.md)");
    }
    const Totals& totals = rows.totals;
    const auto updated =
        work.exec_prepared("put_projection", batch, totals.orders, totals.executions,
                           units_text(totals.cash_created.units()), totals.last_time.microseconds,
                           std::int64_t(totals.digest), projected_batch_);
    if (updated.affected_rows() != 1)
      throw StoreCorrupt(
          describe() +
          " has lost a projection: restored or failed over? A restart replays the journal");
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
    pqxx::nontransaction work(connection);
    const pqxx::result found = work.exec_prepared("get_order", order);
    if (found.empty()) return {};
    StoredOrder stored{order_row(found[0]), {}};
    for (const auto& row : work.exec_prepared("get_executions", order))
      stored.executions.push_back({shares(row[1]), price(row[2]), timestamp(row[3])});
    return stored;
  });
}

}  // namespace exchange
