#include "dashboard/core_door.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace exchange {

namespace asio = boost::asio;

void Event::set() {
  set_ = true;
  timer_.cancel();
}

asio::awaitable<bool> Event::wait_until(Clock::time_point deadline) {
  timer_.expires_at(deadline);
  while (!set_ && Clock::now() < deadline) co_await timer_.async_wait(asio::as_tuple(asio::use_awaitable));
  co_return set_;
}

asio::awaitable<bool> CoreDoor::execute(Ticket& ticket) {
  ticket.sink = this;
  const bool let_in = state_.with([&](State& state) {
    if (state.shut) return false;
    ++state.executing;
    Submission* const submission = &ticket;
    core_.submit({&submission, 1});
    return true;
  });
  if (let_in) co_await ticket.executed.wait_until(Event::Clock::time_point::max());
  co_return let_in;
}

// Core threads.
void CoreDoor::completed(std::span<Submission* const> submissions) {
  for (Submission* submission : submissions)
    asio::post(context_, [ticket = static_cast<Ticket*>(submission)] { ticket->executed.set(); });
  state_.with([&](State& state) { state.executing -= submissions.size(); });
  state_.notify();
}

asio::awaitable<CoreDoor::Read> CoreDoor::read_order(OrderId order, std::chrono::milliseconds time) {
  struct Answer {
    explicit Answer(asio::io_context& context) : there(context) {}
    Event there;
    std::optional<StoredOrder> order;
  };
  const auto answer = std::make_shared<Answer>(context_);  // may come when nobody waits any more
  const bool let_in = state_.with([&](State& state) {
    return !state.shut && core_.look_up(order, [this, answer](const std::optional<StoredOrder>& found) {
      asio::post(context_, [answer, found] {
        answer->order = found;
        answer->there.set();
      });
    });
  });
  const bool answered = let_in && co_await answer->there.wait_until(Event::Clock::now() + time);
  co_return Read{answered, std::move(answer->order)};
}

void CoreDoor::shut() {
  state_.with([](State& state) { state.shut = true; });
  state_.when([](const State& state) { return state.executing == 0; }, [](State&) {});
}

}  // namespace exchange
