#include "gateway/account_events.hpp"

#include <algorithm>

#include "protocol/error_code.hpp"

namespace exchange {

namespace asio = boost::asio;

// Of making 500 events, or a snapshot of 10,000 orders: 1 ms or 10 ms of CPU time.
constexpr std::chrono::milliseconds spread(5);
constexpr std::string_view tables_behind = "the tables are far behind; subscribe again later";

asio::awaitable<AccountChannel::Begun> AccountChannel::begin(ConnectionPointer connection,
                                                             SubscriberRequest request) {
  const auto refused = [&request](std::string_view sentence,
                                  std::string_view code = "service_unavailable") {
    return Begun{{}, error_message(sentence, code, request.name)};
  };
  const auto unknown = [&] {
    return refused(describe(Reason::unknown_account), code_of(Reason::unknown_account));
  };
  const std::int64_t asked_ns = monotonic_ns();
  const auto id = parse_account_id(request.name);
  if (!id) co_return refused("an account id is 1 to 64 digits", code_of(ErrorCode::malformed_id));
  if (!co_await core_.is_active(std::chrono::milliseconds(limits_.store_answer_ms)))
    co_return refused(
        "this server is not the active one, or cannot know now; subscribe again later");
  KeyRing* const keys = core_.keys();
  const std::uint64_t key_version = keys == nullptr ? 0 : keys->version(*id);
  Credential login{Credential::Use::login, *id, std::move(request.key)};
  const std::optional<bool> allowed =
      co_await core_.is_good(std::move(login), HttpPeer{connection->address});
  if (!allowed) co_return refused(describe(Reason::key_unchecked));
  if (!*allowed) co_return unknown();
  ++beginning_;
  update_expected();
  const auto begun = [](AccountChannel* channel) {
    --channel->beginning_;
    channel->update_expected();
  };
  const std::unique_ptr<AccountChannel, decltype(begun)> at_end(this, begun);
  // The core knows an account before the view does.
  if (recorded(*id) == nullptr) {
    const AddressTurns::Turn turn = co_await begins_.take(connection->address);
    const CoreClient::Recorded recording = co_await core_.record_events(*id, connection->address);
    if (!recording.problem.empty()) co_return refused(recording.problem);
    if (!recording.exists) co_return unknown();
  }
  const auto deadline = Event::Clock::now() + std::chrono::milliseconds(limits_.stale_ms);
  if (!co_await changes_.wait_for([this, &id] { return recorded(*id) != nullptr; }, deadline))
    co_return refused(tables_behind);
  // After a start, the view may lack events that clients have from the server before.
  const auto newest = [this, &id] { return recorded(*id)->events; };
  if (request.from && !co_await changes_.wait_for(
                          [&request, &newest] { return *request.from - 1 <= newest(); },
                          Event::Clock::now() + std::chrono::milliseconds(limits_.stale_ms))) {
    const std::int64_t now_ns = monotonic_ns();
    if (core_.health().projection_lag_ns(now_ns) > now_ns - asked_ns)
      co_return refused(tables_behind);
    co_return refused("the newest event of this account is " + std::to_string(newest()) +
                          ": subscribe without from for a snapshot, and go on from it",
                      "unknown_event");
  }
  const AccountNumber number = *view_->account_number(*id);
  const auto subscription = std::make_shared<Subscription>(
      Subscription{*id, number, connection, request.from, key_version});
  followers_.emplace(number, subscription);
  make_ready(subscription);
  co_return Begun{subscription, {}};
}

const MarketView::Account* AccountChannel::recorded(const AccountId& account) const {
  const auto* const known = view_->find_account(account);
  return known != nullptr && known->events > 0 ? known : nullptr;
}

void AccountChannel::update_expected() {
  core_.expect_events(beginning_ > 0 || !followers_.empty());
}

void AccountChannel::make_ready(const SubscriptionPointer& subscription) {
  Connection& connection = *subscription->connection;
  if (!std::exchange(subscription->ready, true)) connection.ready.push_back(subscription);
  if (connection.waiting != nullptr) connection.waiting->set();
}

asio::awaitable<std::vector<AccountChannel::Message>> AccountChannel::next(
    ConnectionPointer connection) {
  std::vector<Message> messages;
  while (messages.empty() && !connection->over) {
    if (connection->ready.empty()) {
      Event ready(context_);
      connection->waiting = &ready;
      co_await ready.wait();
      connection->waiting = nullptr;
      continue;
    }
    if (has_message(*connection->ready.front())) {
      const AddressTurns::Turn turn = co_await turns_.take(connection->address);
      take_message(*connection, messages);
      continue;
    }
    std::vector<EventRange> ranges;
    const std::vector<SubscriptionPointer> of = take_ready(*connection, ranges);
    CoreClient::Events events;
    {
      const AddressTurns::Turn reading = co_await reads_.take(connection->address);
      if (!connection->over) events = co_await core_.read_events(std::move(ranges));
    }
    if (!events) break;  // the server stops
    const AddressTurns::Turn turn = co_await turns_.take(connection->address);
    const Bursts::Work work(bursts_, spread);
    for (std::size_t i = 0; i < of.size(); ++i) {
      const std::vector<EventRow>& rows = (*events)[i];
      // Empty after a takeover: they will be projected soon.
      if (of[i]->over || rows.empty()) continue;
      of[i]->sent = rows.back().number;
      if (view_->account(of[i]->number).events > of[i]->sent) make_ready(of[i]);
      messages.push_back({of[i], events_message(*view_, of[i]->account, rows)});
    }
  }
  co_return messages;
}

bool AccountChannel::has_right_key(const Subscription& subscription) const {
  KeyRing* const keys = core_.keys();
  return keys == nullptr || keys->version(subscription.account) == subscription.key_version;
}

bool AccountChannel::has_message(const Subscription& subscription) const {
  return !subscription.begun || subscription.rules_changed || !has_right_key(subscription);
}

void AccountChannel::take_message(Connection& connection, std::vector<Message>& messages) {
  const SubscriptionPointer subscription = connection.ready.front();
  connection.ready.pop_front();
  subscription->ready = false;
  if (subscription->over) return;
  messages.push_back(message(subscription));
  if (!subscription->over && view_->account(subscription->number).events > subscription->sent)
    make_ready(subscription);
}

AccountChannel::Message AccountChannel::message(const SubscriptionPointer& subscription) {
  const AccountId& id = subscription->account;
  const bool is_answer = !subscription->begun;
  if (!has_right_key(*subscription)) {
    end(subscription);
    return {subscription,
            error_message("the key of the account was changed or revoked; subscribe with its key",
                          "key_changed", id.view()),
            is_answer, true};
  }
  if (is_answer) return {subscription, first_message(*subscription), is_answer};
  subscription->rules_changed = false;
  return {subscription, rules_message(*view_, id, view_->account(subscription->number))};
}

std::vector<AccountChannel::SubscriptionPointer> AccountChannel::take_ready(
    Connection& connection, std::vector<EventRange>& ranges) {
  std::vector<SubscriptionPointer> taken;
  std::size_t room = limits_.events_max;
  while (!connection.ready.empty() && !has_message(*connection.ready.front()) && room > 0) {
    const SubscriptionPointer subscription = connection.ready.front();
    connection.ready.pop_front();
    subscription->ready = false;
    // Not those that the tables alone have: the view knows the symbols of its own.
    const EventNumber newest = view_->account(subscription->number).events;
    if (subscription->over || newest <= subscription->sent) continue;
    const std::uint64_t count = std::min<std::uint64_t>(newest - subscription->sent, room);
    ranges.push_back({subscription->number, subscription->sent + 1, subscription->sent + count});
    taken.push_back(subscription);
    room -= count;
  }
  return taken;
}

std::string AccountChannel::first_message(Subscription& subscription) {
  const Bursts::Work work(bursts_, spread);
  const MarketView::Account& account = view_->account(subscription.number);
  subscription.begun = true;
  subscription.sent = subscription.from ? *subscription.from - 1 : account.events;
  if (subscription.from)
    return subscribed_message(*view_, subscription.account, account, *subscription.from);
  return account_message(*view_, subscription.account, account,
                         {limits_.snapshot_lines_max, limits_.snapshot_lines_max});
}

void AccountChannel::end(const SubscriptionPointer& subscription) {
  if (std::exchange(subscription->over, true)) return;
  const auto [first, last] = followers_.equal_range(subscription->number);
  followers_.erase(
      std::find_if(first, last, [&](const auto& one) { return one.second == subscription; }));
  update_expected();
}

void AccountChannel::end(Connection& connection) {
  connection.over = true;
  if (connection.waiting != nullptr) connection.waiting->set();
}

void AccountChannel::publish(const Rows& rows) {
  if (followers_.empty()) return;
  for (const AccountRow& row : rows.accounts) {
    const auto [first, last] = followers_.equal_range(row.number);
    for (auto at = first; at != last; ++at)
      if (at->second->begun && row.events > at->second->sent) make_ready(at->second);
  }
  for (const AccountRulesRow& row : rows.account_rules) {
    const auto [first, last] = followers_.equal_range(row.account);
    for (auto at = first; at != last; ++at) {
      if (!at->second->begun) continue;  // its first message has them
      at->second->rules_changed = true;
      make_ready(at->second);
    }
  }
}

void AccountChannel::check_keys() {
  KeyRing* const keys = core_.keys();
  if (keys == nullptr || checked_key_version_ == keys->version()) return;
  checked_key_version_ = keys->version();
  for (const auto& [number, subscription] : followers_)
    if (!has_right_key(*subscription)) make_ready(subscription);
}

}  // namespace exchange
