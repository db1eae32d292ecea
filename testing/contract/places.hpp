#pragma once
// A Place is where one store is kept. There is one of every kind, and those that speak SQL have a
// connection of their own for tests.

#include "catch.hpp"
#include "store/memory/memory_store.hpp"
#include "store/postgres/postgres_store.hpp"
#include "store/postgres/pqxx_shim.hpp"
#include "store/sqlite/sqlite_store.hpp"
#include "store/store_url.hpp"
#include "support/folder.hpp"
#include "support/postgres_cluster.hpp"
#include "support/stores.hpp"

namespace exchange::testing {

using Lines = std::vector<std::string>;  // one a row, columns joined by '|'

inline const AccountId alice("1"), bob("007");
inline const SymbolName spy("SPY");

inline void run_sqlite(const std::string& path, const std::string& sql) {
  SqliteDatabase(path, SqliteDatabase::Use::write).run(sql.c_str());
}
inline pqxx::result run_postgres(const std::string& url, const std::string& sql) {
  pqxx::connection admin(url);
  return pqxx::nontransaction(admin).exec(sql);
}

// Ends all connections of others to this database, as if their servers lost them.
inline void end_connections(const std::string& url) {
  run_postgres(url,
               "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
               "WHERE datname = current_database() AND pid <> pg_backend_pid()");
}

class Place {
 public:
  virtual ~Place() = default;
  // Opens the store as the next server does.
  Store& reopen() {
    close();
    if (!store_) store_ = make();
    store_->open();
    return *store_;
  }
  virtual void close() { store_.reset(); }
  // Returns the store of one more server at this place, not yet open.
  virtual std::unique_ptr<Store> make() = 0;

 private:
  std::unique_ptr<Store> store_;
};

class MemoryPlace : public Place {
 public:
  void close() override {}  // closing would lose everything
  std::unique_ptr<Store> make() override { return std::make_unique<MemoryStore>(); }
};

class SqlPlace : public Place {
 public:
  virtual Lines query(const std::string& sql) = 0;
  virtual void run(const std::string& sql) = 0;
};

class SqlitePlace : public SqlPlace {
 public:
  Lines query(const std::string& sql) override {
    SqliteDatabase database(path(), SqliteDatabase::Use::read);
    sqlite3_stmt* statement = nullptr;
    database.check(sqlite3_prepare_v2(database.handle(), sql.c_str(), -1, &statement, nullptr));
    const int columns = sqlite3_column_count(statement);
    sqlite3_finalize(statement);
    Lines lines;
    SqliteStatement rows(database, sql);
    while (rows.step()) {
      lines.emplace_back(rows.text(0));
      for (int column = 1; column < columns; ++column)
        lines.back().append("|").append(rows.text(column));
    }
    return lines;
  }
  void run(const std::string& sql) override { run_sqlite(path(), sql); }
  std::unique_ptr<Store> make() override { return std::make_unique<SqliteStore>(path()); }
  std::string path() const { return folder_ / "x.db"; }

 private:
  TemporaryFolder folder_;
};

class PostgresPlace : public SqlPlace {
 public:
  Lines query(const std::string& sql) override {
    pqxx::connection connection(url());
    pqxx::nontransaction work(connection);
    work.exec("SET TIME ZONE 'UTC'");
    Lines lines;
    for (const auto& row : work.exec(sql)) {
      lines.emplace_back(row[0].c_str());
      for (int column = 1; column < int(row.size()); ++column)
        lines.back().append("|").append(row[column].c_str());
    }
    return lines;
  }
  void run(const std::string& sql) override { run_postgres(url(), sql); }
  std::unique_ptr<Store> make() override { return std::make_unique<PostgresStore>(url_); }
  const std::string& url() const { return url_; }

 private:
  const std::string url_ = shared_cluster().create_database();
};

inline std::unique_ptr<SqlPlace> any_sql_place() {
  if (GENERATE(false, true)) return std::make_unique<PostgresPlace>();
  return std::make_unique<SqlitePlace>();
}
inline std::unique_ptr<Place> make_place(StoreKind kind) {
  switch (kind) {
    case StoreKind::sqlite: return std::make_unique<SqlitePlace>();
    case StoreKind::postgres: return std::make_unique<PostgresPlace>();
    case StoreKind::memory: return std::make_unique<MemoryPlace>();
  }
  throw std::logic_error("a kind of store without a place for tests");
}
inline std::unique_ptr<Place> any_place() {
  return make_place(StoreKind(GENERATE(range(0, int(enumerators<StoreKind>)))));
}
// Returns a place that several servers can use: memory belongs to one server only.
inline std::unique_ptr<Place> any_kept_place() {
  const auto is_kept = [](int kind) { return StoreKind(kind) != StoreKind::memory; };
  return make_place(
      StoreKind(GENERATE_REF(filter(is_kept, range(0, int(enumerators<StoreKind>))))));
}

// Returns the smallest projection: the rows of one new account.
inline Rows one_account() {
  Exchange exchange;
  exchange.apply(CreateAccount{AccountId("1"), Cash::whole(1)}, {});
  Rows rows;
  exchange.take_changes(rows);
  return rows;
}

}  // namespace exchange::testing
