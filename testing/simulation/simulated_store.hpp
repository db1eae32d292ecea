#pragma once
// A store whose disk outlives the processes that use it. It fails in every way that a store may. An
// append is lost, commits although it reports failure, commits late, commits on a primary and is
// lost when a standby replaces that primary, or hangs. A primary that was replaced still answers
// reads. Reads fail, and projections are lost at a power cut. The store also checks what must never
// happen: a projection ahead of the journal, and pruning of a row that is still needed.

#include <deque>
#include <map>
#include <optional>

#include "journal/lease.hpp"
#include "model/tables.hpp"
#include "simulation/scheduler.hpp"
#include "store/store.hpp"

namespace exchange::simulation {

// A fault happens in one of this number of operations; 0: never.
struct StoreFaults {
  std::uint64_t append_lost = 0, append_committed = 0, append_late = 0,
                append_unreplicated = 0;  // all report failure
  std::uint64_t resolve_fails = 0, project_lost = 0, project_committed = 0, read_fails = 0,
                load_fails = 0, prune_fails = 0;
  std::uint64_t hangs = 0;
};

struct Disk {
  struct Projection {
    ModelTables tables;
    BatchNumber batch = 0;
  };
  // as in SQLite: a projection is safe from power cuts only after a checkpoint
  bool tables_sync_late = false;
  StoreFaults faults;

  Epoch epoch = 0;
  std::map<BatchNumber, JournalRow> journal;
  std::map<BatchNumber, JournalRow> archive;  // every row ever committed: for the judge
  std::deque<Projection> projections{1};      // readers see the last; the first is safe
  // the append of a lost connection, or one not replicated: it commits later, or never
  std::optional<JournalRow> under_way;
  Process lock_holder = 0;  // a live server's lock; 0: none
  Process cut_off = 0;      // cannot reach the store; 0: none
  // If set, the process that is cut off reaches a primary that was replaced, with the tables of
  // that time. It gets no answer to calls that a standby would have to confirm.
  std::optional<Projection> stale_primary;

  void commit(const JournalRow& row);
  // Decides whether the append in doubt commits or is lost.
  void resolve_under_way(Scheduler& scheduler);
  void power_cut(Scheduler& scheduler);
};

class SimulatedStore final : public Store, public Journal, public Tables {
 public:
  SimulatedStore(Disk& disk, Scheduler& scheduler)
      : disk_(disk), scheduler_(scheduler), process_(scheduler.process()) {}
  ~SimulatedStore() override {
    if (disk_.lock_holder == process_) disk_.lock_holder = 0;
  }
  Epoch epoch() const { return epoch_; }

  std::string describe() const override { return "simulated"; }
  Journal& journal() override { return *this; }
  Tables& tables() override { return *this; }
  void open() override;
  TablesImage load() override;
  std::vector<ExecutionRow> newest_executions(std::size_t) override { return {}; }
  void read_trades(ExecutionId, const std::function<void(const Leaderboard::Trade&)>&) override {}
  void read(BatchNumber after, const Visit& visit) override;
  void append(BatchNumber batch, std::string_view payload) override;
  bool resolve_in_doubt(BatchNumber batch) override;
  void confirm_epoch() override;
  void project(const Rows& rows, BatchNumber batch) override;
  BatchNumber secure() override;
  BatchNumber projected_batch() override { return disk_.projections.back().batch; }
  void prune(BatchNumber through) override;
  using Tables::read_order;
  std::optional<StoredOrder> read_order(OrderId order, const ExecutionRange& range) override;
  std::vector<EventRow> read_events(AccountNumber account, EventNumber first,
                                    EventNumber last) override;
  Fills read_fills(const FillRange&) override { return {}; }

 private:
  void take_time();  // a crash, a hang or a partition may happen here
  void fail(std::uint64_t one_in, const char* what);
  void check_epoch() const;

  Disk& disk_;
  Scheduler& scheduler_;
  const Process process_;
  Epoch epoch_ = 0;
  Lease lease_;
  bool connected_ = true;  // for appends; resolve_in_doubt() connects again
  BatchNumber prune_through_ = 0;
};

}  // namespace exchange::simulation
