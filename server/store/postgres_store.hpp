#pragma once
// PostgresStore keeps journal and tables in one PostgreSQL database (db/postgresql.sql), through
// libpqxx. It owns three connections, one for each thread that uses the store; a connection that
// fails is dropped and made again at the next call. The core's connection holds an advisory lock
// while the server lives, so that a second server refuses to start. If that connection is lost, the
// lock is free and another server may take over: then the epoch in table `fence`, which each write
// checks in its own transaction, keeps this server from committing.
//
// append() never connects: after a lost connection resolve_in_doubt() does, which first waits for
// an append of the old connection that may still be committing.

#include <memory>

#include "store/store.hpp"

namespace exchange {

class PostgresStore : public Store {
 public:
  // A libpq URI. Time-outs that it does not set are added, so that a dead network is noticed within
  // some 15 seconds.
  explicit PostgresStore(const std::string& url);
  ~PostgresStore() override;

  std::string describe() const override;
  void open() override;
  TablesImage load() override;
  std::vector<ExecutionRow> newest_executions(std::size_t count) override;
  void read_journal(BatchNumber after,
                    const std::function<void(const JournalRow&)>& visit) override;
  void append(BatchNumber batch, std::string_view payload) override;
  bool resolve_in_doubt(BatchNumber batch) override;
  void confirm_epoch() override;
  void project(const Rows& rows, BatchNumber batch) override;
  void prune(BatchNumber through) override;
  std::optional<StoredOrder> read_order(OrderId order) override;

 private:
  class Connection;
  [[noreturn]] void throw_fenced() const;

  const std::string url_;
  Epoch epoch_ = 0;
  BatchNumber projected_batch_ = 0;  // projector thread, after load()
  std::unique_ptr<Connection> core_, projector_, reader_;
};

}  // namespace exchange
