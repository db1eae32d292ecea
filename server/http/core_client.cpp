#include "http/core_client.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace exchange {

namespace asio = boost::asio;

constexpr std::string_view standby_refusal = "this server is a standby; another one is active";

// One request under way, for which close() waits; none once that was called.
class CoreClient::Lease {
 public:
  explicit Lease(Guarded<State>& state)
      : state_(state.with([](State& data) { return !data.closed && ++data.executing; }) ? &state
                                                                                        : nullptr) {
  }
  ~Lease() {
    if (state_ == nullptr) return;
    state_->with([](State& data) { --data.executing; });
    state_->notify();
  }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  explicit operator bool() const { return state_ != nullptr; }

 private:
  Guarded<State>* const state_;
};

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

asio::awaitable<std::string_view> CoreClient::execute(PendingRequest& pending) {
  pending.sink = this;
  if (!attached()) co_return standby_refusal;
  const AddressQuota::Share share = executing_.take(pending.keys.address);
  if (!share)
    co_return share.refusal() == AddressQuota::Refusal::address
        ? "too many requests of your address are under way"
        : "too many requests are under way";
  const Lease lease(state_);
  if (!lease) co_return "the server is stopping";
  if (authenticator_ != nullptr) co_await check_keys(pending.keys);
  if (pending.keys.refused) {
    pending.refuse(Reason::key_unchecked);
    co_return "";
  }
  if (authenticator_ != nullptr) pending.commands = pending.keys.accepted();
  if (pending.commands.empty()) {
    pending.refuse(Reason::operator_key);
  } else {
    Submission* const submission = &pending;
    core_->submit({&submission, 1});
    co_await pending.executed.wait_until(Event::Clock::time_point::max());
  }
  if (authenticator_ != nullptr) authenticator_->complete(pending.keys, pending.outcomes);
  co_return "";
}

// The authenticator calls back before it ends, and this waits for it.
asio::awaitable<void> CoreClient::check_keys(KeyCheck& keys) {
  if (authenticator_->is_checked(keys)) co_return;
  Event checked(context_);
  keys.on_done = [&] { asio::post(context_, [&checked] { checked.set(); }); };
  authenticator_->check(keys);
  co_await checked.wait_until(Event::Clock::time_point::max());
}

asio::awaitable<std::optional<bool>> CoreClient::may_see(const AccountId& account, std::string key,
                                                         const PeerAddress& address) {
  if (authenticator_ == nullptr) co_return true;
  Credential login{Credential::Use::login, account, std::move(key)};
  KeyCheck keys(address);
  keys.begin_batch({&login, 1}, {});
  co_await check_keys(keys);
  if (keys.refused) co_return std::nullopt;
  co_return keys.is_logged_in(account);
}

// Core threads.
void CoreClient::completed(std::span<Submission* const> submissions) {
  for (Submission* submission : submissions)
    asio::post(context_,
               [submission] { static_cast<PendingRequest*>(submission)->executed.set(); });
}

asio::awaitable<CoreClient::Read> CoreClient::read_order(OrderId order,
                                                         std::chrono::milliseconds time,
                                                         std::size_t waiting_max) {
  if (!attached()) co_return Read{standby_refusal, {}};
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
    return core_->look_up(order, on_found, waiting_max) ? "" : "too many orders are being read";
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
