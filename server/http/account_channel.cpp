#include "http/account_channel.hpp"

#include <algorithm>

#include "protocol/error_code.hpp"

namespace exchange {

namespace asio = boost::asio;

asio::awaitable<AccountChannel::Begun> AccountChannel::begin(ConnectionPointer connection,
                                                             SubscriberRequest request) {
  const auto refused = [&request](std::string_view sentence,
                                  std::string_view code = "service_unavailable") {
    return Begun{{}, error_message(sentence, code, request.name)};
  };
  const auto unknown = [&] {
    return refused(describe(Reason::unknown_account), code_of(Reason::unknown_account));
  };
  const auto id = parse_account_id(request.name);
  if (!id) co_return refused("an account id is 1 to 64 digits", code_of(ErrorCode::malformed_id));
  if (!co_await core_.is_active(std::chrono::milliseconds(limits_.store_answer_ms)))
    co_return refused(
        "this server is not the active one, or cannot know now; subscribe again later");
  const std::optional<bool> allowed =
      co_await core_.may_see(*id, std::move(request.key), connection->address);
  if (!allowed) co_return refused(describe(Reason::key_unchecked));
  if (!*allowed) co_return unknown();
  // The core knows an account before the view does.
  if (recorded(*id) == nullptr) {
    const AddressTurns::Turn turn = co_await begins_.take(connection->address);
    const CoreClient::Recorded recording = co_await core_.record_events(*id, connection->address);
    if (!recording.problem.empty()) co_return refused(recording.problem);
    if (!recording.exists) co_return unknown();
  }
  if (!co_await wait_for([this, &id] { return recorded(*id) != nullptr; }))
    co_return refused("the tables are far behind; subscribe again later");
  // After a start, the view may lack events that clients have from the server before.
  const auto newest = [this, &id] { return recorded(*id)->events; };
  if (request.from &&
      !co_await wait_for([&request, &newest] { return *request.from - 1 <= newest(); }))
    co_return refused("the newest event of this account is " + std::to_string(newest()) +
                          ": subscribe without from for a snapshot, and go on from it",
                      "unknown_event");
  const AccountNumber number = *view_->account_number(*id);
  const auto subscription =
      std::make_shared<Subscription>(Subscription{*id, number, connection, request.from});
  if (followers_.empty()) core_.expect_events(true);
  followers_.emplace(number, subscription);
  make_ready(subscription);
  co_return Begun{subscription, {}};
}

const MarketView::Account* AccountChannel::recorded(const AccountId& account) const {
  const auto* const known = view_->find_account(account);
  return known != nullptr && known->events > 0 ? known : nullptr;
}

asio::awaitable<bool> AccountChannel::wait_for(std::function<bool()> is_there) {
  const auto deadline = Event::Clock::now() + std::chrono::milliseconds(limits_.stale_ms);
  for (bool in_time = true; in_time && !is_there();) {
    Event changed(context_);
    const auto forget = [this](Event* event) { waiting_.erase(event); };
    const std::unique_ptr<Event, decltype(forget)> entry(*waiting_.insert(&changed).first, forget);
    in_time = co_await changed.wait_until(deadline);
  }
  co_return is_there();
}

void AccountChannel::make_ready(const SubscriptionPointer& subscription) {
  Connection& connection = *subscription->connection;
  if (!std::exchange(subscription->ready, true)) connection.ready.push_back(subscription);
  if (connection.waiting != nullptr) connection.waiting->set();
}

asio::awaitable<AccountChannel::Message> AccountChannel::next(ConnectionPointer connection) {
  while (!connection->over) {
    if (connection->ready.empty()) {
      Event ready(context_);
      connection->waiting = &ready;
      co_await ready.wait();
      connection->waiting = nullptr;
      continue;
    }
    const SubscriptionPointer subscription = connection->ready.front();
    Subscription& of = *subscription;
    connection->ready.pop_front();
    of.ready = false;
    if (of.over) continue;
    if (!of.begun) {
      const AddressTurns::Turn turn = co_await turns_.take(connection->address);
      std::string text = first_message(of);
      if (view_->account(of.number).events > of.sent) make_ready(subscription);
      co_return Message{subscription, std::move(text)};
    }
    // Not those that the tables alone have: the view knows the symbols of its own.
    const EventNumber newest = view_->account(of.number).events,
                      last = std::min(newest, of.sent + limits_.events_max);
    std::optional<std::vector<EventRow>> events;
    {
      const AddressTurns::Turn reading = co_await reads_.take(connection->address);
      if (!of.over) events = co_await core_.read_events(of.number, of.sent + 1, last);
    }
    if (of.over) continue;
    if (!events) co_return Message{};  // the server stops
    if (events->empty()) continue;     // of a server that took over: they will be projected soon
    const AddressTurns::Turn turn = co_await turns_.take(connection->address);
    const Bursts::Work work(bursts_, std::chrono::milliseconds(20));
    of.sent = events->back().number;
    if (view_->account(of.number).events > of.sent) make_ready(subscription);
    co_return Message{subscription, events_message(*view_, of.account, *events)};
  }
  co_return Message{};
}

std::string AccountChannel::first_message(Subscription& subscription) {
  const Bursts::Work work(bursts_, std::chrono::milliseconds(20));
  const MarketView::Account& account = view_->account(subscription.number);
  subscription.begun = true;
  subscription.sent = subscription.from ? *subscription.from - 1 : account.events;
  if (subscription.from)
    return subscribed_message(subscription.account, *subscription.from, account.events);
  return account_message(*view_, subscription.account, account,
                         {limits_.snapshot_lines_max, limits_.snapshot_lines_max});
}

void AccountChannel::end(const SubscriptionPointer& subscription) {
  if (std::exchange(subscription->over, true)) return;
  const auto [first, last] = followers_.equal_range(subscription->number);
  followers_.erase(
      std::find_if(first, last, [&](const auto& one) { return one.second == subscription; }));
  if (followers_.empty()) core_.expect_events(false);
}

void AccountChannel::end(Connection& connection) {
  connection.over = true;
  if (connection.waiting != nullptr) connection.waiting->set();
}

void AccountChannel::publish(const std::vector<AccountRow>& accounts) {
  for (Event* const event : waiting_) event->set();
  if (followers_.empty()) return;
  for (const AccountRow& row : accounts) {
    const auto [first, last] = followers_.equal_range(row.number);
    for (auto at = first; at != last; ++at)
      if (at->second->begun && row.events > at->second->sent) make_ready(at->second);
  }
}

}  // namespace exchange
