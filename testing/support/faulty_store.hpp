#pragma once
// A memory store whose next operations fail or wait, as a test requests.

#include <atomic>
#include <deque>

#include "base/guarded.hpp"
#include "store/memory/memory_store.hpp"

namespace exchange::testing {

// While it is held, operations wait.
class Hold {
 public:
  void begin() { set(true); }
  void end() { set(false); }
  void pass() {
    held_.when([](bool held) { return !held; }, [](bool) {});
  }

 private:
  void set(bool held) {
    held_.with([&](bool& now) { now = held; });
    held_.notify();
  }
  Guarded<bool> held_;
};

class FaultyStore : public MemoryStore {
 public:
  // lost: nothing happened; both report failure
  enum class Fault { none, lost, committed_but_lost };

  void append(BatchNumber batch, std::string_view payload) override {
    hold_appends.pass();
    ++appends;
    switch (next(append_faults)) {
      case Fault::none: return MemoryStore::append(batch, payload);
      case Fault::lost: throw StoreUnavailable("append lost");
      case Fault::committed_but_lost:
        MemoryStore::append(batch, payload);
        throw StoreUnavailable("reply to append lost");
    }
  }
  void confirm_epoch() override {
    ++confirmations;
    MemoryStore::confirm_epoch();
  }
  bool resolve_in_doubt(BatchNumber batch) override {
    ++resolves;
    if (next(resolve_faults) != Fault::none) throw StoreUnavailable("resolve failed");
    return MemoryStore::resolve_in_doubt(batch);
  }
  void project(const Rows& rows, BatchNumber batch) override {
    hold_projections.pass();
    switch (next(project_faults)) {
      case Fault::none: break;
      case Fault::lost: throw StoreUnavailable("projection lost");
      case Fault::committed_but_lost:
        MemoryStore::project(rows, batch);
        throw StoreUnavailable("reply to projection lost");
    }
    MemoryStore::project(rows, batch);
    ++projections;
  }
  using Tables::read_order;
  std::optional<StoredOrder> read_order(OrderId order, const ExecutionRange& range) override {
    hold_reads.pass();
    executions_read += range.count > 0;
    if (next(read_faults) != Fault::none) throw StoreUnavailable("read failed");
    return MemoryStore::read_order(order, range);
  }
  std::vector<EventRow> read_events(AccountNumber account, EventNumber first,
                                    EventNumber last) override {
    hold_reads.pass();
    if (next(read_faults) != Fault::none) throw StoreUnavailable("read failed");
    return MemoryStore::read_events(account, first, last);
  }
  Fills read_fills(const FillRange& range) override {
    hold_reads.pass();
    if (next(read_faults) != Fault::none) throw StoreUnavailable("read failed");
    return MemoryStore::read_fills(range);
  }

  std::int64_t lease_end_ns() const override { return lease_end; }

  using Faults = Guarded<std::deque<Fault>>;
  static void plan(Faults& faults, std::deque<Fault> next) {
    faults.with([&](std::deque<Fault>& queue) { queue = std::move(next); });
  }
  Faults append_faults, resolve_faults, project_faults, read_faults;
  Hold hold_appends, hold_projections, hold_reads;
  std::atomic<int> appends{0}, confirmations{0}, resolves{0}, projections{0};
  std::atomic<int> executions_read{0};  // reads of orders that asked for executions
  std::atomic<std::int64_t> lease_end{INT64_MAX};

 private:
  static Fault next(Guarded<std::deque<Fault>>& faults) {
    return faults.with([](std::deque<Fault>& queue) {
      if (queue.empty()) return Fault::none;
      const Fault fault = queue.front();
      queue.pop_front();
      return fault;
    });
  }
};

}  // namespace exchange::testing
