#include "gateway/account_events.hpp"

#include <algorithm>
#include <unordered_map>

namespace exchange {

namespace asio = boost::asio;

// Writing 500 events takes 1 ms of CPU time, a snapshot of 10,000 orders 10 ms.
constexpr std::chrono::milliseconds spread(5);
constexpr std::string_view tables_behind = "the tables are far behind; subscribe again later";

asio::awaitable<AccountEvents::Begun> AccountEvents::begin(ConnectionPointer connection,
                                                           Request request) {
  const auto refused = [](std::string_view sentence,
                          std::string_view code = "service_unavailable") {
    return Begun{{}, std::string(sentence), code};
  };
  const auto unknown = [&] {
    return refused(describe(Reason::unknown_account), to_code(Reason::unknown_account));
  };
  const std::int64_t asked_ns = monotonic_ns();
  const AccountId& id = request.account;
  if (!co_await core_.is_active(std::chrono::milliseconds(limits_.store_answer_ms)))
    co_return refused(
        "this server is not the active one, or cannot know now; subscribe again later");
  KeyRing* const keys = core_.keys();
  const std::uint64_t key_version = keys == nullptr ? 0 : keys->version(id);
  Credential login{Credential::Use::login, id, std::move(request.key)};
  const std::optional<bool> allowed =
      co_await core_.is_good(std::move(login), Peer{connection->address});
  if (!allowed) co_return refused(describe(Reason::key_unchecked));
  if (!*allowed) co_return unknown();
  ++beginning_;
  update_expected();
  const auto begun = [](AccountEvents* events) {
    --events->beginning_;
    events->update_expected();
  };
  const std::unique_ptr<AccountEvents, decltype(begun)> at_end(this, begun);
  // The core knows an account before the view does.
  if (recorded(id) == nullptr) {
    const AddressTurns::Turn turn = co_await begins_.take(connection->address);
    const CoreClient::Recorded recording = co_await core_.record_events(id, connection->address);
    if (!recording.problem.empty()) co_return refused(recording.problem);
    if (!recording.exists) co_return unknown();
  }
  const auto deadline = Event::Clock::now() + std::chrono::milliseconds(limits_.stale_ms);
  if (!co_await changes_.wait_for([this, &id] { return recorded(id) != nullptr; }, deadline))
    co_return refused(tables_behind);
  // After a start, the view may lack events that clients have from the previous server.
  const auto newest = [this, &id] { return recorded(id)->events; };
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
  const AccountNumber number = view_->number_of(*recorded(id));
  const auto subscription = std::make_shared<Subscription>(
      Subscription{id, number, connection, request.from, key_version});
  followers_.emplace(number, subscription);
  make_ready(subscription);
  co_return Begun{subscription, {}};
}

const MarketView::Account* AccountEvents::recorded(const AccountId& account) const {
  const auto* const known = view_->find_account(account);
  return known != nullptr && known->events > 0 ? known : nullptr;
}

void AccountEvents::update_expected() {
  core_.expect_events(beginning_ > 0 || !followers_.empty());
}

void AccountEvents::make_ready(const SubscriptionPointer& subscription) {
  Connection& connection = *subscription->connection;
  if (connection.over) return;
  if (!std::exchange(subscription->ready, true)) connection.ready.push_back(subscription);
  if (connection.waiting != nullptr) connection.waiting->set();
}

asio::awaitable<std::vector<AccountEvents::Message>> AccountEvents::next(
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
      if (!connection->over) take_message(*connection, messages);
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
      // After a takeover a range may be empty: its events will be projected soon.
      if (of[i]->over || rows.empty()) continue;
      of[i]->sent = rows.back().number;
      drop_sent(*of[i]);
      if (view_->account(of[i]->number).events > of[i]->sent) make_ready(of[i]);
      messages.push_back({of[i], write(*of[i], Update::Kind::events, rows)});
    }
  }
  co_return messages;
}

bool AccountEvents::has_right_key(const Subscription& subscription) const {
  KeyRing* const keys = core_.keys();
  return keys == nullptr || keys->version(subscription.account) == subscription.key_version;
}

bool AccountEvents::has_message(const Subscription& subscription) const {
  return !subscription.begun || subscription.rules_changed || subscription.is_live() ||
         !has_right_key(subscription);
}

void AccountEvents::take_message(Connection& connection, std::vector<Message>& messages) {
  const SubscriptionPointer subscription = connection.ready.front();
  connection.ready.pop_front();
  subscription->ready = false;
  if (subscription->over) return;
  // New rows may have replaced those in hand since the check in next(): then read the events.
  if (!has_message(*subscription)) return make_ready(subscription);
  messages.push_back(message(subscription));
  if (!subscription->over && view_->account(subscription->number).events > subscription->sent)
    make_ready(subscription);
}

AccountEvents::Message AccountEvents::message(const SubscriptionPointer& subscription) {
  using Kind = Update::Kind;
  const bool is_answer = !subscription->begun;
  if (!has_right_key(*subscription)) {
    end(subscription);
    return {subscription, write(*subscription, Kind::key_changed), is_answer, true};
  }
  const Bursts::Work work(bursts_, spread);
  if (is_answer) {
    const std::optional<EventNumber>& from = subscription->from;
    subscription->begun = true;
    subscription->sent = from ? *from - 1 : view_->account(subscription->number).events;
    return {subscription, write(*subscription, from ? Kind::subscribed : Kind::snapshot),
            is_answer};
  }
  if (std::exchange(subscription->rules_changed, false))
    return {subscription, write(*subscription, Kind::rules)};
  return events_in_hand(subscription);
}

AccountEvents::Message AccountEvents::events_in_hand(const SubscriptionPointer& subscription) {
  drop_sent(*subscription);
  std::deque<EventRow>& rows = subscription->in_hand;
  const std::vector<EventRow> events(std::make_move_iterator(rows.begin()),
                                     std::make_move_iterator(rows.end()));
  drop_rows(*subscription, rows.size());
  subscription->sent = events.back().number;
  return {subscription, write(*subscription, Update::Kind::events, events)};
}

std::string AccountEvents::write(const Subscription& subscription, Update::Kind kind,
                                 std::span<const EventRow> events) const {
  return subscription.connection->write(*view_,
                                        {.kind = kind,
                                         .account = subscription.account,
                                         .state = view_->account(subscription.number),
                                         .from = subscription.from.value_or(0),
                                         .events = events},
                                        limits_);
}

std::vector<AccountEvents::SubscriptionPointer> AccountEvents::take_ready(
    Connection& connection, std::vector<EventRange>& ranges) {
  std::vector<SubscriptionPointer> taken;
  std::size_t room = limits_.events_max;
  while (!connection.ready.empty() && !has_message(*connection.ready.front()) && room > 0) {
    const SubscriptionPointer subscription = connection.ready.front();
    connection.ready.pop_front();
    subscription->ready = false;
    // Skip events that only the tables have: the view knows the symbols of its own events.
    const EventNumber newest = view_->account(subscription->number).events;
    if (subscription->over || newest <= subscription->sent) continue;
    const std::uint64_t count = std::min<std::uint64_t>(newest - subscription->sent, room);
    ranges.push_back({subscription->number, subscription->sent + 1, subscription->sent + count});
    taken.push_back(subscription);
    room -= count;
  }
  return taken;
}

void AccountEvents::end(const SubscriptionPointer& subscription) {
  if (std::exchange(subscription->over, true)) return;
  drop_rows(*subscription, subscription->in_hand.size());
  const auto [first, last] = followers_.equal_range(subscription->number);
  followers_.erase(
      std::find_if(first, last, [&](const auto& one) { return one.second == subscription; }));
  update_expected();
}

void AccountEvents::end(Connection& connection) {
  connection.over = true;
  connection.ready.clear();  // a subscription keeps its connection: they would keep each other
  if (connection.waiting != nullptr) connection.waiting->set();
}

void AccountEvents::take(const Rows& rows) {
  if (followers_.empty() || rows.events.empty()) return;
  std::unordered_map<OrderId, const OrderReference*> new_ones;
  for (const ReferenceRow& row : rows.references)
    if (followers_.contains(row.account)) new_ones.emplace(row.order, &row.reference);
  for (const EventRow& row : rows.events) {
    const auto [first, last] = followers_.equal_range(row.account);
    // After a takeover the server projects some events again. The view may have forgotten their
    // orders.
    if (first == last || row.number <= view_->account(row.account).events) continue;
    EventRow event = row;
    if (row.order != 0) {
      const auto found = new_ones.find(row.order);
      const OrderReference* const reference =
          found != new_ones.end() ? found->second : view_->reference_of(row.order);
      if (reference != nullptr)
        event.reference = *reference;
      else if (!view_->knows_reference_of(row.order))
        continue;
    }
    for (auto at = first; at != last; ++at)
      if (at->second->begun) take_row(*at->second, event);  // else a snapshot or a read has it
  }
}

void AccountEvents::publish(const Rows& rows) {
  if (followers_.empty()) return;
  const auto for_each_follower = [this](AccountNumber account, const auto& use) {
    const auto [first, last] = followers_.equal_range(account);
    for (auto at = first; at != last; ++at)
      if (at->second->begun) use(at->second);
  };
  for (const AccountRow& row : rows.accounts)
    for_each_follower(row.number, [&](const auto& follower) {
      if (row.events > follower->sent) make_ready(follower);
    });
  for (const AccountRulesRow& row : rows.account_rules)
    for_each_follower(row.account, [&](const auto& follower) {
      follower->rules_changed = true;
      make_ready(follower);
    });
}

void AccountEvents::take_row(Subscription& subscription, const EventRow& row) const {
  std::deque<EventRow>& rows = subscription.in_hand;
  std::size_t& in_hand = subscription.connection->in_hand;
  if (row.number <= subscription.sent) return;
  const bool follows = rows.empty() || row.number == rows.back().number + 1;
  if (!follows || in_hand >= limits_.events_max) drop_rows(subscription, rows.size());
  if (in_hand >= limits_.events_max) return;
  rows.push_back(row);
  ++in_hand;
}

void AccountEvents::drop_rows(Subscription& subscription, std::size_t count) {
  subscription.in_hand.erase(subscription.in_hand.begin(),
                             subscription.in_hand.begin() + std::ptrdiff_t(count));
  subscription.connection->in_hand -= count;
}

void AccountEvents::drop_sent(Subscription& subscription) {
  const auto& rows = subscription.in_hand;
  const auto is_sent = [&](const EventRow& row) { return row.number <= subscription.sent; };
  drop_rows(subscription,
            std::size_t(std::find_if_not(rows.begin(), rows.end(), is_sent) - rows.begin()));
}

void AccountEvents::check_keys() {
  KeyRing* const keys = core_.keys();
  if (keys == nullptr || checked_key_version_ == keys->version()) return;
  checked_key_version_ = keys->version();
  for (const auto& [number, subscription] : followers_)
    if (!has_right_key(*subscription)) make_ready(subscription);
}

}  // namespace exchange
