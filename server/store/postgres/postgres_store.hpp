#pragma once
// PostgresStore keeps journal and tables in one PostgreSQL database (db/postgresql.sql), through
// libpqxx. It owns three connections, one for each thread that uses the store; a connection that
// fails is dropped and made again at the next call. The core's connection holds an advisory lock
// while the server lives, so that a second server refuses to start. If that connection is lost, the
// lock is free and another server may take over: then the epoch in table `fence`, which each write
// checks in its own transaction, keeps this server from committing. A pooler that would share that
// lock among servers is refused on each new connection of the core.
//
// append() never connects: after a lost connection resolve_in_doubt() does, which first waits for
// an append of the old connection that may still be committing.
//
// With synchronous replication an append counts when the standbys have it, and so does everything
// that a reply may rest on (postgres_connection.hpp says what a canceled wait does): each method
// that returns has either committed a replicated transaction or writes nothing that counts.

#include <atomic>

#include "journal/lease.hpp"
#include "store/limits.hpp"
#include "store/postgres/postgres_connection.hpp"
#include "store/store.hpp"

namespace exchange {

// The number of standbys that PostgreSQL waits for under a value of synchronous_standby_names.
unsigned synchronous_replicas(const std::string& setting);

// The schema of the tables of a closed day.
std::string schema_of_day(const std::string& name);

class PostgresStore : public Store, public Journal, public Tables {
 public:
  // A libpq URI, with one host or several (postgres_connection.hpp). Throws std::invalid_argument.
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
  // In one transaction: moves tables and views into a schema of the day's own, and makes new ones.
  void close_day(const std::string& name) override;
  std::int64_t lease_end_ns() const override { return lease_.end_ns(); }
  StoreStatus status() const override;

  bool allows_standby() const override { return true; }
  void attach() override;
  ActiveServer active_server() override;
  bool try_open() override;
  BatchNumber projected_batch() override;
  void keep_from(BatchNumber batch) override;

 private:
  void require_replicas(pqxx::connection& connection);
  [[noreturn]] void throw_fenced() const;

  const StoreLimits limits_;
  PostgresHosts hosts_;
  std::atomic<Epoch> epoch_{0};
  Lease lease_;  // core thread, from appends and confirmations
  // Written by load() and the projector; the reader compares what it reads.
  std::atomic<BatchNumber> projected_batch_{0};
  std::atomic<unsigned> synchronous_standbys_{0};  // as last read; by core and projector
  PostgresConnection core_, projector_, reader_;
};

}  // namespace exchange
