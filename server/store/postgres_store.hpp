#pragma once
// The store in PostgreSQL, through libpqxx. Three connections, one for each thread that uses the
// store. The core's connection holds an advisory lock while the server lives, so that a second
// server refuses to start; the epoch in `fence` keeps a server that lost its connection from
// committing after another has taken over.

#include <memory>

#include "store/store.hpp"

namespace exchange {

class PostgresStore : public Store {
 public:
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
