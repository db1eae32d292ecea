#pragma once
// Event is what a coroutine waits for that another part of the same thread sets. Owner: the
// coroutine. Thread: that of the context.

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>

namespace exchange {

class Event {
 public:
  using Clock = std::chrono::steady_clock;
  explicit Event(boost::asio::io_context& context) : timer_(context) {}
  void set() {
    set_ = true;
    timer_.cancel();
  }
  void clear() { set_ = false; }
  // Whether it was set before `deadline`.
  boost::asio::awaitable<bool> wait_until(Clock::time_point deadline) {
    timer_.expires_at(deadline);
    while (!set_ && Clock::now() < deadline)
      co_await timer_.async_wait(boost::asio::as_tuple(boost::asio::use_awaitable));
    co_return set_;
  }
  boost::asio::awaitable<bool> wait() { return wait_until(Clock::time_point::max()); }

 private:
  boost::asio::steady_timer timer_;
  bool set_ = false;
};

}  // namespace exchange
