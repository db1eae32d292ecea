#include "gateway/core_client.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace exchange {

namespace asio = boost::asio;

constexpr std::string_view standby_refusal = "this server is a standby; another one is active";
constexpr std::string_view replaced_refusal =
    "this server cannot know now whether it is still the active one; ask again later";

asio::awaitable<std::string_view> CoreClient::execute(PendingRequest& pending,
                                                      std::span<Command> commands,
                                                      std::span<Credential> credentials) {
  const AddressQuota::Share share = executing_.take(pending.peer);
  if (!share)
    co_return share.refusal() == AddressQuota::Refusal::address
        ? "too many requests of your address are under way"
        : "too many requests are under way";
  const Permit permit = enter();
  if (!permit) co_return "the server is stopping";
  co_return co_await execute(pending, commands, credentials, permit);
}

CoreClient::Permit CoreClient::enter() {
  const bool entered = state_.with([](State& data) { return !data.closed && ++data.executing; });
  return Permit(entered ? &state_ : nullptr);
}

asio::awaitable<std::string_view> CoreClient::execute(PendingRequest& pending,
                                                      std::span<Command> commands,
                                                      std::span<Credential> credentials,
                                                      const Permit&) {
  using Step = ClientSession::Step;
  if (!attached()) co_return standby_refusal;
  // Requests that wait for the store would occupy the connections of clients that ask for its
  // state.
  if (!health_->store_available()) co_return "the store is unavailable";
  ClientSession& session = pending.session;
  Step step = session.begin_batch(commands, credentials);
  if (step == Step::check_keys) step = co_await check_keys(session);
  if (step == Step::execute) co_await submit(pending);
  session.end_batch();
  co_return "";
}

// The coroutine waits until the authenticator calls back, which it does before it ends.
asio::awaitable<ClientSession::Step> CoreClient::check_keys(ClientSession& session) {
  Event checked(context_);
  session.check_keys([&] { asio::post(context_, [&checked] { checked.set(); }); });
  co_await checked.wait();
  co_return session.keys_checked();
}

asio::awaitable<void> CoreClient::submit(PendingRequest& pending) {
  pending.sink = this;
  pending.executed.clear();
  Submission* const submission = &pending;
  core_->submit({&submission, 1});
  co_await pending.executed.wait();
}

asio::awaitable<void> CoreClient::cancel_tied_orders(PendingRequest& pending, const Permit&) {
  while (attached() && pending.session.begin_tied_cancels()) {
    co_await submit(pending);
    pending.session.end_batch();
    pending.session.forget_outcomes();
  }
}

asio::awaitable<std::optional<bool>> CoreClient::is_good(Credential login, const Peer& peer) {
  if (authenticator_ == nullptr) co_return true;
  const AccountId account = login.account;
  PendingRequest pending = this->pending(peer);
  ClientSession& session = pending.session;
  const ClientSession::Step step = session.begin_batch({}, {&login, 1});
  if (step == ClientSession::Step::check_keys) co_await check_keys(session);
  if (session.keys_unchecked()) co_return std::nullopt;
  co_return session.is_logged_in(account);
}

asio::awaitable<CoreClient::Recorded> CoreClient::record_events(AccountId account,
                                                                PeerAddress address) {
  PendingRequest pending(context_, nullptr, metrics_, Peer{address});
  Command command = RecordEvents{account};
  const std::string_view problem = co_await execute(pending, {&command, 1}, {});
  co_return Recorded{problem,
                     problem.empty() && std::holds_alternative<Created>(pending.outcomes[0])};
}

asio::awaitable<CoreClient::Events> CoreClient::read_events(std::vector<EventRange> ranges) {
  PostedResult<OrderReader::Events> answer(context_);
  const auto on_read = [answer](OrderReader::Events rows) { answer.deliver(std::move(rows)); };
  const bool reading = attached() && state_.with([&](State& state) {
    if (!state.closed) core_->read_events(std::move(ranges), on_read);
    return !state.closed;
  });
  if (!reading) co_return std::nullopt;
  co_return co_await answer.wait_until(Event::Clock::time_point::max());
}

// Core threads call it.
void CoreClient::completed(std::span<Submission* const> submissions) {
  for (Submission* submission : submissions)
    asio::post(context_,
               [submission] { static_cast<PendingRequest*>(submission)->executed.set(); });
}

// begin(on_read) requests a Result from the core and returns whether the core will call on_read.
template <class Result, class Begin>
asio::awaitable<std::pair<std::string_view, Result>> CoreClient::read(
    Begin begin, std::shared_ptr<const AddressQuota::Share> share, std::chrono::milliseconds time) {
  if (!attached()) co_return std::pair(standby_refusal, Result());
  PostedResult<Result> answer(context_);
  const auto on_read = [answer, share](Result found) { answer.deliver(std::move(found)); };
  const std::string_view refusal = state_.with([&](State& state) -> std::string_view {
    if (state.closed) return "the server is stopping";
    return begin(on_read) ? "" : too_many_reads;
  });
  if (!refusal.empty()) co_return std::pair(refusal, Result());
  std::optional<Result> found = co_await answer.wait_until(Event::Clock::now() + time);
  if (!found) co_return std::pair(std::string_view("the store does not answer"), Result());
  co_return std::pair(std::string_view(), std::move(*found));
}

asio::awaitable<CoreClient::Read> CoreClient::read_order(
    OrderId order, ExecutionRange range, std::shared_ptr<const AddressQuota::Share> share,
    std::chrono::milliseconds time, std::size_t waiting_max) {
  const auto begin = [&](const auto& on_read) {
    return core_->look_up(order, range, on_read, waiting_max);
  };
  auto [problem, found] = co_await read<std::optional<StoredOrder>>(begin, std::move(share), time);
  co_return Read{problem, std::move(found)};
}

asio::awaitable<CoreClient::FillsRead> CoreClient::read_fills(
    FillRange range, std::shared_ptr<const AddressQuota::Share> share,
    std::chrono::milliseconds time, std::size_t waiting_max) {
  const auto begin = [&](const auto& on_read) {
    return core_->read_fills(range, on_read, waiting_max);
  };
  auto [problem, fills] = co_await read<Fills>(begin, std::move(share), time);
  co_return FillsRead{problem, std::move(fills)};
}

asio::awaitable<bool> CoreClient::catch_up(const std::optional<MarketView>& view,
                                           ViewChanges& changes, std::chrono::milliseconds time) {
  const BatchNumber wanted = health_->committed_batch();
  const auto is_there = [&] {
    if (health_->projected_batch() >= wanted && view && view->batch() >= wanted) return true;
    // The projection under way may have begun before this call, so request another after each.
    await_projection();
    return false;
  };
  if (wanted == 0) co_return true;
  co_return co_await changes.wait_for(is_there, Event::Clock::now() + time);
}

// A confirmation that began before the call proves nothing for it.
asio::awaitable<bool> CoreClient::is_active(std::chrono::milliseconds time) {
  const auto deadline = Event::Clock::now() + time;
  const std::uint64_t begun_before = confirmations_begun_;
  while (monotonic_ns() >= journal_.lease_end_ns() && confirmations_ended_ <= begun_before) {
    if (!health_->store_available()) co_return false;
    if (confirmations_begun_ == confirmations_ended_ && !begin_confirmation()) co_return false;
    Event ended(context_);
    awaiting_confirmation_.insert(&ended);
    const bool in_time = co_await ended.wait_until(deadline);
    awaiting_confirmation_.erase(&ended);
    if (!in_time) co_return false;
  }
  co_return attached();
}

// Returns false if the server stops, or is a standby.
bool CoreClient::begin_confirmation() {
  const auto confirmed = [this] {
    asio::post(context_, [this] {
      confirmations_ended_ = confirmations_begun_;
      for (Event* const one : awaiting_confirmation_) one->set();
    });
  };
  return attached() && state_.with([&](State& state) {
    if (state.closed) return false;
    ++confirmations_begun_;
    core_->confirm(confirmed);
    return true;
  });
}

asio::awaitable<std::string> why_stale(Readiness& readiness, CoreClient& core,
                                       const GatewayLimits& limits) {
  std::string reason;
  if (readiness.role() != Readiness::Role::active)
    reason = readiness.stale(monotonic_ns());
  else if (!co_await core.is_active(std::chrono::milliseconds(limits.store_answer_ms)))
    reason = replaced_refusal;
  co_return reason;
}

void CoreClient::close() {
  state_.with([](State& state) { state.closed = true; });
  state_.when([](const State& state) { return state.executing == 0; }, [](State&) {});
}

}  // namespace exchange
