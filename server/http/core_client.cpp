#include "http/core_client.hpp"

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
  while (!set_ && Clock::now() < deadline)
    co_await timer_.async_wait(asio::as_tuple(asio::use_awaitable));
  co_return set_;
}

asio::awaitable<std::string_view> CoreClient::execute(PendingRequest& pending,
                                                      std::size_t executing_max) {
  pending.sink = this;
  const std::string_view refusal = state_.with([&](State& state) -> std::string_view {
    if (state.closed) return "the server is stopping";
    if (state.executing >= executing_max) return "too many requests are under way";
    if (authenticator_ != nullptr) {
      std::size_t& of_peer = state.executing_of[pending.credentials->peer];
      if (of_peer >= executing_max / 2) return "too many requests of your address are under way";
      ++of_peer;
    }
    ++state.executing;  // close() waits for it
    return "";
  });
  if (!refusal.empty()) co_return refusal;
  Submission* const submission = &pending;
  service_.submit({&submission, 1});
  co_await pending.executed.wait_until(Event::Clock::time_point::max());
  co_return refusal;
}

asio::awaitable<std::optional<bool>> CoreClient::may_see(const AccountId& account, std::string key,
                                                         Peer peer) {
  if (authenticator_ == nullptr) co_return true;
  Event checked(context_);
  std::optional<bool> right;
  // The authenticator calls back before it ends, and this waits for it.
  authenticator_->check(account, std::move(key), peer, [&](std::optional<bool> result) {
    asio::post(context_, [&right, &checked, result] {
      right = result;
      checked.set();
    });
  });
  co_await checked.wait_until(Event::Clock::time_point::max());
  co_return right;
}

// Core threads, or the authenticator's.
void CoreClient::completed(std::span<Submission* const> submissions) {
  state_.with([&](State& state) {
    for (Submission* submission : submissions) {
      if (authenticator_ != nullptr) {
        const auto of_peer = state.executing_of.find(submission->credentials->peer);
        if (--of_peer->second == 0) state.executing_of.erase(of_peer);
      }
      // from here on it may be gone
      asio::post(context_,
                 [pending = static_cast<PendingRequest*>(submission)] { pending->executed.set(); });
    }
    state.executing -= submissions.size();
  });
  state_.notify();
}

asio::awaitable<CoreClient::Read> CoreClient::read_order(OrderId order,
                                                         std::chrono::milliseconds time,
                                                         std::size_t waiting_max) {
  struct Answer {
    explicit Answer(asio::io_context& context) : there(context) {}
    Event there;
    std::optional<StoredOrder> order;
  };
  // shared: the answer may come after the time is over
  const auto answer = std::make_shared<Answer>(context_);
  const auto on_found = [this, answer](std::optional<StoredOrder> found) {
    asio::post(context_, [answer, found = std::move(found)]() mutable {
      answer->order = std::move(found);
      answer->there.set();
    });
  };
  const std::string_view refusal = state_.with([&](State& state) -> std::string_view {
    if (state.closed) return "the server is stopping";
    return core_.look_up(order, on_found, waiting_max) ? "" : "too many orders are being read";
  });
  if (!refusal.empty()) co_return Read{refusal, {}};
  if (!co_await answer->there.wait_until(Event::Clock::now() + time))
    co_return Read{"the store does not answer", {}};
  co_return Read{"", std::move(answer->order)};
}

void CoreClient::close() {
  state_.with([](State& state) { state.closed = true; });
  state_.when([](const State& state) { return state.executing == 0; }, [](State&) {});
}

}  // namespace exchange
