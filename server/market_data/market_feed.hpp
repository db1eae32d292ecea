#pragma once
// MarketFeed carries projected rows from the projector's thread to the thread of the MarketView.
// push() copies them and returns; it waits only while at least rows_max rows are unread, so that
// memory stays bounded if the reader is slow. Owner: Server.

#include <functional>
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

  // Thread: that of the reader. push() calls `wake`, without a lock, when take() has rows.
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
  // The reader stops: push() drops its rows from here on.
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

  const std::size_t rows_max_;
  Guarded<State> state_;
};

}  // namespace exchange
