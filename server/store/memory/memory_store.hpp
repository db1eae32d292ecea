#pragma once
// MemoryStore keeps journal and tables in the memory of this process, for tests and measurements.
// Everything is lost when the process ends (main logs a warning). It behaves as the other stores
// do, so that a test can "restart" on the same object by opening it again. It never throws
// StoreFenced, because no other process can open it. Any thread: journal and tables have a mutex
// each, so that a commit does not wait for a projection.

#include <map>
#include <tuple>

#include "base/guarded.hpp"
#include "store/store.hpp"
#include "store/table_traits.hpp"

namespace exchange {

class MemoryStore : public Store, public Journal, public Tables {
 public:
  std::string describe() const override { return "memory:"; }
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
  void confirm_epoch() override {}
  void project(const Rows& rows, BatchNumber batch) override;
  BatchNumber secure() override { return projected_batch(); }
  BatchNumber projected_batch() override;
  void prune(BatchNumber through) override;
  using Tables::read_order;
  std::optional<StoredOrder> read_order(OrderId order, const ExecutionRange& range) override;
  std::vector<EventRow> read_events(AccountNumber account, EventNumber first,
                                    EventNumber last) override;
  Fills read_fills(const FillRange& range) override;

 private:
  struct KeptJournal {
    Epoch epoch = 0;
    std::map<BatchNumber, JournalRow> rows;
  };
  // Rows by TableTraits::key_of().
  template <class Row>
  using Table = std::map<std::uint64_t, Row>;
  template <class Member>
  using TableOf = Table<RowIn<Member>>;
  struct KeptTables {
    // one for each member of Rows
    boost::mp11::mp_rename<boost::mp11::mp_transform<TableOf, MembersOf<Rows>>, std::tuple> all;
    template <class Row>
    Table<Row>& table() {
      return std::get<Table<Row>>(all);
    }
    std::multimap<OrderId, ExecutionId> executions_of;
    Totals totals;
    BatchNumber projected_batch = 0;
  };
  Guarded<KeptJournal> journal_;
  Guarded<KeptTables> tables_;
};

}  // namespace exchange
