#pragma once
// A memory store whose next operations fail on demand, and a clock that the test sets.

#include <atomic>
#include <deque>

#include "base/guarded.hpp"
#include "core/clock.hpp"
#include "store/memory_store.hpp"

namespace exchange::testing {

class FaultyStore : public MemoryStore {
 public:
  // lost: nothing happened; both report failure
  enum class Fault { none, lost, committed_but_lost };

  void append(BatchNumber batch, std::string_view payload) override {
    ++appends;
    hold_appends.when([](bool hold) { return !hold; }, [](bool) {});
    switch (next(append_faults)) {
      case Fault::none: return MemoryStore::append(batch, payload);
      case Fault::lost: throw StoreUnavailable("append lost");
      case Fault::committed_but_lost:
        MemoryStore::append(batch, payload);
        throw StoreUnavailable("reply to append lost");
    }
  }
  bool resolve_in_doubt(BatchNumber batch) override {
    ++resolves;
    if (next(resolve_faults) != Fault::none) throw StoreUnavailable("resolve failed");
    return MemoryStore::resolve_in_doubt(batch);
  }
  void project(const Rows& rows, BatchNumber batch) override {
    hold_projection.when([](bool hold) { return !hold; }, [](bool) {});
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
  std::optional<StoredOrder> read_order(OrderId order) override {
    hold_reads.when([](bool hold) { return !hold; }, [](bool) {});
    if (next(read_faults) != Fault::none) throw StoreUnavailable("read failed");
    return MemoryStore::read_order(order);
  }

  Guarded<std::deque<Fault>> append_faults, resolve_faults, project_faults, read_faults;
  Guarded<bool> hold_appends, hold_projection, hold_reads;
  std::atomic<int> appends{0}, resolves{0}, projections{0};

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

class ManualClock : public Clock {
 public:
  Timestamp now() override { return {time_us}; }
  std::int64_t monotonic_ns() override { return time_us * 1'000; }
  void pause(std::uint32_t milliseconds) override { time_us += milliseconds * 1'000; }
  std::atomic<std::int64_t> time_us{1'000'000'000};
};

}  // namespace exchange::testing
