#pragma once
// ViewChanges makes coroutines wait until the market view has the state that they need. Owner: the
// door's server, which calls publish() after each change of the view. Thread: that of the view.

#include <functional>
#include <memory>
#include <set>

#include "base/event.hpp"

namespace exchange {

class ViewChanges {
 public:
  explicit ViewChanges(boost::asio::io_context& context) : context_(context) {}

  // Returns whether `is_there` returns true before `deadline`; calls it again after each change of
  // the view.
  boost::asio::awaitable<bool> wait_for(std::function<bool()> is_there,
                                        Event::Clock::time_point deadline) {
    for (bool in_time = true; in_time && !is_there();) {
      Event changed(context_);
      const auto forget = [this](Event* event) { waiting_.erase(event); };
      const std::unique_ptr<Event, decltype(forget)> entry(*waiting_.insert(&changed).first,
                                                           forget);
      in_time = co_await changed.wait_until(deadline);
    }
    co_return is_there();
  }
  void publish() {
    for (Event* const event : waiting_) event->set();
  }

 private:
  boost::asio::io_context& context_;
  std::set<Event*> waiting_;
};

}  // namespace exchange
