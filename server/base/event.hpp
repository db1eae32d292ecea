#pragma once
// A coroutine waits for an Event, which another part of the same thread sets, or for a
// PostedResult, which another thread delivers. Owner: the coroutine. Thread: that of the context,
// except where noted.

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <utility>

namespace exchange {

// co_await of an operation returns its error code and result as a tuple.
inline constexpr auto use_tuple = boost::asio::as_tuple(boost::asio::use_awaitable);

class Event {
 public:
  using Clock = std::chrono::steady_clock;
  explicit Event(boost::asio::io_context& context) : timer_(context) {}
  void set() {
    set_ = true;
    timer_.cancel();
  }
  void clear() { set_ = false; }
  // Returns true if the event is set before `deadline`.
  boost::asio::awaitable<bool> wait_until(Clock::time_point deadline) {
    timer_.expires_at(deadline);
    while (!set_ && Clock::now() < deadline) co_await timer_.async_wait(use_tuple);
    co_return set_;
  }
  boost::asio::awaitable<bool> wait() { return wait_until(Clock::time_point::max()); }

 private:
  boost::asio::steady_timer timer_;
  bool set_ = false;
};

// Copies share one answer. The coroutine has one copy, and the thread that answers has another,
// because the answer may come after the coroutine has given up.
template <class Result>
class PostedResult {
 public:
  explicit PostedResult(boost::asio::io_context& context)
      : context_(context), state_(std::make_shared<State>(State{Event(context)})) {}
  // Call it once. Any thread.
  void deliver(Result result) const {
    boost::asio::post(context_, [state = state_, result = std::move(result)]() mutable {
      state->result.emplace(std::move(result));
      state->there.set();
    });
  }
  // Returns nothing if the answer does not come before `deadline`.
  boost::asio::awaitable<std::optional<Result>> wait_until(Event::Clock::time_point deadline) {
    co_await state_->there.wait_until(deadline);
    co_return std::move(state_->result);
  }

 private:
  struct State {
    Event there;
    std::optional<Result> result = {};
  };
  boost::asio::io_context& context_;
  std::shared_ptr<State> state_;
};

}  // namespace exchange
