#include "gateway/account_events.hpp"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>

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
  // A snapshot has what was committed before it was asked for, unless that takes too long.
  const BatchNumber wanted = request.from ? 0 : core_.health().committed_batch();
  const auto is_shown = [this, &id, wanted] {
    if (recorded(id) != nullptr && view_->batch() >= wanted) return true;
    core_.await_projection(true);
    return false;
  };
  if (!co_await changes_.wait_for(is_shown, deadline) && recorded(id) == nullptr)
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
  // after the return, so that the door knows the subscription before its first message
  asio::post(context_, [this, subscription] { make_ready(subscription); });
  co_return Begun{subscription, {}};
}

const MarketView::Account* AccountEvents::recorded(const AccountId& account) const {
  const auto* const known = view_->find_account(account);
  return known != nullptr && known->events > 0 ? known : nullptr;
}

void AccountEvents::update_expected() {
  const bool expected = beginning_ > 0 || !followers_.empty();
  if (std::exchange(expected_, expected) == expected) return;
  core_.expect_events(expected);
  references_.clear();
  recent_.clear();
  if (expected) unseen_ = core_.health().committed_batch();
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
    const AddressTurns::Turn turn = co_await turns_.take(connection->address);
    if (connection->over) break;
    take_messages(*connection, messages);
    if (!connection->behind.empty() && !std::exchange(connection->reading, true))
      asio::co_spawn(context_, read(connection), asio::detached);
  }
  co_return messages;
}

asio::awaitable<void> AccountEvents::read(ConnectionPointer connection) {
  // The connection ends if the server stops, or if there is no memory.
  const auto end_it = [](Connection* one) { end(*one); };
  std::unique_ptr<Connection, decltype(end_it)> failed(connection.get(), end_it);
  while (!connection->behind.empty()) {
    std::vector<EventRange> ranges;
    const std::vector<SubscriptionPointer> of = take_behind(*connection, ranges);
    if (of.empty()) continue;
    CoreClient::Events events;
    {
      const AddressTurns::Turn turn = co_await reads_.take(connection->address);
      if (!connection->over) events = co_await core_.read_events(std::move(ranges));
    }
    if (!events) co_return;
    for (std::size_t i = 0; i < of.size(); ++i) {
      of[i]->read = std::move((*events)[i]);
      of[i]->ready = false;
      // After a takeover a range may be empty: its events will be projected soon.
      if (!of[i]->over && has_message(*of[i])) make_ready(of[i]);
    }
  }
  connection->reading = false;
  failed.release();
}

bool AccountEvents::has_right_key(const Subscription& subscription) const {
  KeyRing* const keys = core_.keys();
  return keys == nullptr || keys->version(subscription.account) == subscription.key_version;
}

bool AccountEvents::has_message(const Subscription& subscription) const {
  return !subscription.begun || subscription.rules_changed || !subscription.read.empty() ||
         is_live(subscription) || !has_right_key(subscription);
}

void AccountEvents::take_messages(Connection& connection, std::vector<Message>& messages) {
  constexpr std::size_t bytes_max = 16'384;  // more than 50 messages with an event each
  std::size_t bytes = 0;
  while (!connection.ready.empty() && bytes < bytes_max) {
    const SubscriptionPointer subscription = connection.ready.front();
    connection.ready.pop_front();
    if (!subscription->over && !has_message(*subscription)) {
      connection.behind.push_back(subscription);
      continue;
    }
    subscription->ready = false;
    if (subscription->over) continue;
    messages.push_back(message(subscription));
    bytes += messages.back().text.size();
    if (!subscription->over && has_more(*subscription)) make_ready(subscription);
  }
}

AccountEvents::Message AccountEvents::message(const SubscriptionPointer& subscription) {
  using Kind = Update::Kind;
  const bool is_answer = !subscription->begun;
  if (!has_right_key(*subscription)) {
    end(subscription);
    return {subscription, write(*subscription, Kind::key_changed), is_answer, true};
  }
  const Bursts::Work work(bursts_, spread);  // of one message: short ones need no rests
  if (is_answer) {
    const std::optional<EventNumber>& from = subscription->from;
    subscription->begun = true;
    subscription->sent = from ? *from - 1 : view_->account(subscription->number).events;
    return {subscription, write(*subscription, from ? Kind::subscribed : Kind::snapshot),
            is_answer};
  }
  if (std::exchange(subscription->rules_changed, false))
    return {subscription, write(*subscription, Kind::rules)};
  const std::vector<EventRow> events =
      !subscription->read.empty()
          ? std::exchange(subscription->read, {})
          : recent_.read(subscription->number, subscription->sent + 1, limits_.events_max);
  subscription->sent = events.back().number;
  return {subscription, write(*subscription, Kind::events, events)};
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

std::vector<AccountEvents::SubscriptionPointer> AccountEvents::take_behind(
    Connection& connection, std::vector<EventRange>& ranges) {
  std::vector<SubscriptionPointer> taken;
  std::size_t room = limits_.read_events_max;
  while (!connection.behind.empty() && room > 0) {
    const SubscriptionPointer subscription = connection.behind.front();
    connection.behind.pop_front();
    // Skip events that only the tables have: the view knows the symbols of its own events.
    const EventNumber newest = view_->account(subscription->number).events;
    if (subscription->over || newest <= subscription->sent) {
      subscription->ready = false;
      continue;
    }
    const std::uint64_t count =
        std::min<std::uint64_t>({newest - subscription->sent, room, limits_.events_max});
    ranges.push_back({subscription->number, subscription->sent + 1, subscription->sent + count});
    taken.push_back(subscription);
    room -= count;
  }
  return taken;
}

void AccountEvents::end(const SubscriptionPointer& subscription) {
  if (std::exchange(subscription->over, true)) return;
  const auto [first, last] = followers_.equal_range(subscription->number);
  followers_.erase(
      std::find_if(first, last, [&](const auto& one) { return one.second == subscription; }));
  update_expected();
}

void AccountEvents::end(Connection& connection) {
  connection.over = true;
  connection.ready.clear();  // a subscription keeps its connection: they would keep each other
  connection.behind.clear();
  if (connection.waiting != nullptr) connection.waiting->set();
}

void AccountEvents::take(const MarketFeed::Live& live) {
  if (live.missed != 0) {
    unseen_ = live.missed;
    references_.clear();
  }
  if (!expected_) return;
  for (const ReferenceRow& row : live.references) references_.emplace(row.order, row.reference);
  if (view_->batch() < unseen_) return;
  for (const EventRow& row : live.events) {
    if (EventRow event = row; complete(event)) recent_.add(std::move(event));
    const auto [first, last] = followers_.equal_range(row.account);
    for (auto at = first; at != last; ++at) {
      const SubscriptionPointer& follower = at->second;
      if (!follower->begun) continue;
      if (has_more(*follower))
        make_ready(follower);
      else
        core_.await_projection();
    }
  }
}

bool AccountEvents::complete(EventRow& event) const {
  if (event.symbol >= view_->symbols().size()) return false;
  if (event.order == 0) return true;
  const auto found = references_.find(event.order);
  const OrderReference* const reference =
      found != references_.end() ? &found->second : view_->reference_of(event.order);
  if (reference != nullptr) event.reference = *reference;
  return reference != nullptr || view_->knows_reference_of(event.order);
}

void AccountEvents::publish(const Rows& rows) {
  for (const ReferenceRow& row : rows.references) references_.erase(row.order);
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

void AccountEvents::check_keys() {
  KeyRing* const keys = core_.keys();
  if (keys == nullptr || checked_key_version_ == keys->version()) return;
  checked_key_version_ = keys->version();
  for (const auto& [number, subscription] : followers_)
    if (!has_right_key(*subscription)) make_ready(subscription);
}

}  // namespace exchange
