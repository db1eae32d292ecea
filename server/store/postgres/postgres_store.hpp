#pragma once
// PostgresStore keeps journal and tables in one PostgreSQL database (db/postgresql.sql), through
// libpqxx. It owns three connections, one for each thread that uses the store; a connection that
// fails is dropped and made again at the next call. The core's connection holds an advisory lock
// while the server lives, so that a second server refuses to start. If that connection is lost, the
// lock is free and another server may take over: then the epoch in table `fence`, which each write
// checks in its own transaction, keeps this server from committing. Each new connection of the core
// is refused if it leads to a pooler that would share the lock among servers.
//
// append() never connects. After a lost connection resolve_in_doubt() connects; it first waits for
// an append of the old connection that may still be committing.
//
// With synchronous replication, an append, and everything else that a reply may depend on, is valid
// only once the standbys have it (postgres_connection.hpp describes a canceled wait). Each method
// that returns has either committed a replicated transaction or has written nothing that must last.

#include <atomic>

#include "journal/lease.hpp"
#include "store/limits.hpp"
#include "store/postgres/postgres_connection.hpp"
#include "store/store.hpp"

namespace exchange {

// Returns the number of standbys that PostgreSQL waits for under a value of
// synchronous_standby_names.
unsigned synchronous_replicas(const std::string& setting);

// Returns the schema of the tables of a closed day.
std::string schema_of_day(const std::string& name);

class PostgresStore : public Store, public Journal, public Tables {
 public:
  // `url` is a libpq URI, with one host or several (postgres_connection.hpp). Throws
  // std::invalid_argument.
  explicit PostgresStore(const std::string& url, const StoreLimits& limits = {});
  ~PostgresStore() override;

  std::string describe() const override { return hosts_.description(); }
  Journal& journal() override { return *this; }
  Tables& tables() override { return *this; }
  void open() override;
  TablesImage load() override;
  std::vector<ExecutionRow> newest_executions(std::size_t count) override;
  void read_trades(ExecutionId after,
                   const std::function<void(const Leaderboard::Trade&)>& visit) override;
  void read(BatchNumber after, const Visit& visit) override;
  void append(BatchNumber batch, std::string_view payload) override;
  bool resolve_in_doubt(BatchNumber batch) override;
  void confirm_epoch() override;
  void project(const Rows& rows, BatchNumber batch) override;
  BatchNumber secure() override { return projected_batch_; }
  void prune(BatchNumber through) override;
  using Tables::read_order;
  std::optional<StoredOrder> read_order(OrderId order, const ExecutionRange& range) override;
  std::vector<EventRow> read_events(AccountNumber account, EventNumber first,
                                    EventNumber last) override;
  Fills read_fills(const FillRange& range) override;

  void end_lease() override;
  DayCheck check_day(const std::string& name) override;
  // Moves tables and views into a new schema for the day, and makes new ones, in one transaction.
  void close_day(const std::string& name) override;
  std::int64_t lease_end_ns() const override { return lease_.end_ns(); }
  StoreStatus status() const override;

  bool allows_standby() const override { return true; }
  void attach() override;
  ActiveServer active_server() override;
  bool try_open() override;
  bool writes_elsewhere() const override { return true; }
  BatchNumber projected_batch() override;
  void keep_from(BatchNumber batch) override;

 private:
  void require_replicas(pqxx::connection& connection);
  [[noreturn]] void throw_fenced() const;

  const StoreLimits limits_;
  PostgresHosts hosts_;
  std::atomic<Epoch> epoch_{0};
  Lease lease_;  // renewed on the core thread by appends and confirmations
  // load() and the projector write it; the reader compares it with what it reads.
  std::atomic<BatchNumber> projected_batch_{0};
  std::atomic<unsigned> synchronous_standbys_{0};  // as last read; core and projector write it
  PostgresConnection core_, projector_, reader_;
};

}  // namespace exchange
