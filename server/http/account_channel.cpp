#include "http/account_channel.hpp"

#include <algorithm>

#include "protocol/error_code.hpp"

namespace exchange {

namespace asio = boost::asio;

asio::awaitable<AccountChannel::Begun> AccountChannel::begin(SubscriptionPointer subscription,
                                                             SubscriberRequest request) {
  const auto refused = [&request](std::string_view sentence,
                                  std::string_view code = "service_unavailable") {
    return Begun{false, error_message(sentence, code, request.name)};
  };
  const PeerAddress& address = subscription->address;
  const auto id = parse_account_id(request.name);
  if (!id) co_return refused("an account id is 1 to 64 digits", code_of(ErrorCode::malformed_id));
  if (!co_await core_.is_active(std::chrono::milliseconds(limits_.store_answer_ms)))
    co_return refused(
        "this server is not the active one, or cannot know now; subscribe again later");
  const std::optional<bool> allowed = co_await core_.may_see(*id, std::move(request.key), address);
  if (!allowed) co_return refused(describe(Reason::key_unchecked));
  const auto unknown = [&] {
    return refused(describe(Reason::unknown_account), code_of(Reason::unknown_account));
  };
  if (!*allowed) co_return unknown();
  // The core knows an account before the view does.
  if (!is_recorded(*id)) {
    const CoreClient::Recorded recording = co_await core_.record_events(*id, address);
    if (!recording.problem.empty()) co_return refused(recording.problem);
    if (!recording.exists) co_return unknown();
  }
  const std::optional<AccountNumber> number = co_await recorded(*id);
  if (!number) co_return refused("the tables are far behind; subscribe again later");
  // After a start, the view may lack events that clients have from the server before.
  if (request.from && !co_await has_event(*number, *request.from - 1))
    co_return refused("the newest event of this account is " +
                          std::to_string(view_->account(*number).events) +
                          ": subscribe without from for a snapshot, and go on from it",
                      "unknown_event");
  const AddressTurns::Turn turn = co_await turns_.take(address);
  const MarketView::Account& account = view_->account(*number);
  subscription->account = *id;
  subscription->number = *number;
  subscription->sent = request.from ? *request.from - 1 : account.events;
  co_return Begun{true, request.from ? subscribed_message(*id, *request.from, account.events)
                                     : account_message(*view_, *id, account)};
}

bool AccountChannel::is_recorded(const AccountId& account) const {
  const auto* const known = view_->find_account(account);
  return known != nullptr && known->events > 0;
}

asio::awaitable<std::optional<AccountNumber>> AccountChannel::recorded(AccountId account) {
  const bool there = co_await wait_for(no_index, [this, account] { return is_recorded(account); });
  co_return there ? view_->account_number(account) : std::nullopt;
}

asio::awaitable<bool> AccountChannel::has_event(AccountNumber account, EventNumber event) {
  return wait_for(account,
                  [this, account, event] { return event <= view_->account(account).events; });
}

asio::awaitable<bool> AccountChannel::wait_for(AccountNumber account,
                                               std::function<bool()> is_there) {
  const auto deadline = Event::Clock::now() + std::chrono::milliseconds(limits_.stale_ms);
  while (!is_there()) {
    Event changed(context_);
    const auto entry = waiting_.emplace(account, &changed);
    const bool in_time = co_await changed.wait_until(deadline);
    waiting_.erase(entry);
    if (!in_time) co_return is_there();
  }
  co_return true;
}

asio::awaitable<std::string> AccountChannel::next(SubscriptionPointer subscription) {
  Subscription& of = *subscription;
  while (!of.over && view_->account(of.number).events == of.sent) {
    Event changed(context_);
    const auto entry = waiting_.emplace(of.number, &changed);
    of.waiting = &changed;
    co_await changed.wait();
    of.waiting = nullptr;
    waiting_.erase(entry);
  }
  if (of.over) co_return "";
  // Not those that the tables alone have: the view knows the symbols of its own.
  const EventNumber newest = view_->account(of.number).events,
                    last = std::min(newest, of.sent + limits_.events_max);
  std::vector<EventRow> events;
  {
    const AddressTurns::Turn reading = co_await reads_.take(of.address);
    events = co_await core_.read_events(of.number, of.sent + 1, last);
  }
  if (events.empty()) co_return "";  // the server stops
  const AddressTurns::Turn turn = co_await turns_.take(of.address);
  of.sent = last;
  co_return events_message(*view_, of.account, events);
}

void AccountChannel::end(Subscription& subscription) {
  subscription.over = true;
  if (subscription.waiting != nullptr) subscription.waiting->set();
}

void AccountChannel::publish(const std::vector<AccountRow>& accounts) {
  if (waiting_.empty()) return;
  const auto wake = [&](AccountNumber account) {
    const auto [first, end] = waiting_.equal_range(account);
    for (auto at = first; at != end; ++at) at->second->set();
  };
  for (const AccountRow& row : accounts)
    if (row.events > 0) wake(row.number);
  wake(no_index);
}

}  // namespace exchange
