#pragma once
// MarketFeed carries rows to the thread of the MarketView: projected rows from the projector's
// thread, and the events of accounts of each batch, before they are projected, from the core's.
// Memory stays bounded if the reader is slow: push() waits while at least rows_max rows are unread;
// push_events(), which must not wait, drops the events. Owner: Server.

#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "base/bursts.hpp"
#include "base/guarded.hpp"
#include "engine/rows.hpp"

namespace exchange {

class MarketFeed {
 public:
  struct Projected {
    Rows rows;
    std::uint64_t batch;
  };

  explicit MarketFeed(std::size_t rows_max) : rows_max_(rows_max) {}

  // Thread: that of the projector.
  void push(const Rows& rows, std::uint64_t batch) {
    Projected projected{copy(rows), batch};  // before the lock: the reader would wait for it
    const auto wake =
        state_.when([&](const State& state) { return state.rows < rows_max_ || state.ended; },
                    [&](State& state) {
                      if (state.ended) return std::function<void()>();
                      state.rows += rows.size();
                      state.unread.push_back(std::move(projected));
                      return state.wake;
                    });
    if (wake) wake();
  }

  // The events of some batches. `missed`: events up to this batch were dropped; 0: none.
  struct Live {
    std::vector<EventRow> events;
    std::vector<ReferenceRow> references;
    std::uint64_t missed = 0;
  };
  // Thread: that of the core.
  void push_events(std::span<const EventRow> events, std::span<const ReferenceRow> references,
                   std::uint64_t batch) {
    const auto wake = state_.with([&](State& state) {
      if (state.ended) return std::function<void()>();
      Live& live = state.live;
      const bool is_awake = !live.events.empty() || live.missed != 0;
      if (live.missed != 0 || live.events.size() + live.references.size() >= events_max) {
        live = Live{.missed = batch};
      } else {
        live.events.insert(live.events.end(), events.begin(), events.end());
        live.references.insert(live.references.end(), references.begin(), references.end());
      }
      return is_awake ? std::function<void()>() : state.wake;
    });
    if (wake) wake();
  }

  // Thread: that of the reader. push() and push_events() call `wake`, without a lock, when there
  // are rows to take.
  void follow(std::function<void()> wake) {
    state_.with([&](State& state) { state.wake = wake; });
    wake();  // for rows that came before
  }
  std::vector<Projected> take() {
    std::vector<Projected> unread = state_.with([](State& state) {
      state.rows = 0;
      return std::exchange(state.unread, {});
    });
    state_.notify();
    return unread;
  }
  Live take_events() {
    return state_.with([](State& state) { return std::exchange(state.live, {}); });
  }
  // The reader stops: later rows are dropped.
  void end() {
    state_.with([](State& state) {
      state.ended = true;
      state.wake = nullptr;
    });
    state_.notify();
  }

 private:
  struct State {
    std::vector<Projected> unread;
    std::size_t rows = 0;
    Live live;
    std::function<void()> wake;
    bool ended = false;
  };
  static Rows copy(const Rows& rows) {
    Rows copy{.totals = rows.totals};
    for_each_member<Rows>([&](auto table) {
      auto& copied = copy.*table.pointer;
      copied.reserve((rows.*table.pointer).size());
      Bursts::each(rows.*table.pointer, [&](const auto& row) { copied.push_back(row); });
    });
    return copy;
  }

  static constexpr std::size_t events_max = 100'000;  // 15 MB
  const std::size_t rows_max_;
  Guarded<State> state_;
};

}  // namespace exchange
