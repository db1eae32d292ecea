#pragma once
// A store in the memory of this process: volatile, for experiments and tests. Says so when opened
// through make_store(). Keeps journal and tables as the other stores do, so that the object can be
// "restarted" by opening it again.

#include <map>

#include "base/guarded.hpp"
#include "store/store.hpp"

namespace exchange {

class MemoryStore : public Store {
 public:
  std::string describe() const override { return "memory:"; }
  void open() override;
  TablesImage load() override;
  std::vector<ExecutionRow> newest_executions(std::size_t count) override;
  void read_journal(BatchNumber after,
                    const std::function<void(const JournalRow&)>& visit) override;
  void append(BatchNumber batch, std::string_view payload) override;
  bool resolve_in_doubt(BatchNumber batch) override;
  void confirm_epoch() override {}
  void project(const Rows& rows, BatchNumber batch) override;
  void prune(BatchNumber through) override;
  std::optional<StoredOrder> read_order(OrderId order) override;

 private:
  struct Data {
    Epoch epoch = 0;
    std::map<BatchNumber, JournalRow> journal;
    std::map<AccountNumber, AccountRow> accounts;
    std::map<AccountNumber, AccountKeyRow> account_keys;
    std::map<SymbolNumber, SymbolRow> symbols;
    std::map<std::pair<AccountNumber, SymbolNumber>, PositionRow> positions;
    std::map<OrderId, OrderRow> orders;
    std::map<ExecutionId, ExecutionRow> executions;
    std::multimap<OrderId, ExecutionId> executions_of;
    Totals totals;
    BatchNumber projected_batch = 0;
  };
  Guarded<Data> data_;
};

}  // namespace exchange
