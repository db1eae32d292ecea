#pragma once
// AccountChannel gives subscribers the events of accounts (docs/account-stream.md). It keeps none:
// each subscription reads its next ones from the tables once its client has taken those before. So
// a slow client costs no memory, and what it missed is still there when it comes back. Owner:
// HttpServer. Thread: that of answers.

#include <boost/asio/awaitable.hpp>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "http/address_turns.hpp"
#include "http/api.hpp"
#include "http/core_client.hpp"
#include "http/limits.hpp"
#include "market_data/market_view.hpp"

namespace exchange {

class AccountChannel {
 public:
  // One client that follows one account.
  struct Subscription {
    explicit Subscription(const PeerAddress& peer) : address(peer) {}
    const PeerAddress address;
    AccountId account{""};  // once it has begun, as the next two
    AccountNumber number = 0;
    EventNumber sent = 0;  // the newest one that next() has returned, or that the snapshot has
    bool over = false;
    Event* waiting = nullptr;  // of next()
  };
  using SubscriptionPointer = std::shared_ptr<Subscription>;

  AccountChannel(boost::asio::io_context& context, const std::optional<MarketView>& view,
                 CoreClient& core, AddressTurns& turns, const HttpLimits& limits)
      : context_(context), view_(view), core_(core), turns_(turns), limits_(limits) {}

  struct Begun {
    bool accepted;
    std::string message;  // the snapshot, that the events follow, or the error
  };
  // Checks the key; has the events recorded, if they are not yet, and waits until the view has
  // them.
  boost::asio::awaitable<Begun> begin(SubscriptionPointer subscription, SubscriberRequest request);
  // The next events, as a message, once there are any. Empty: the subscription is over.
  boost::asio::awaitable<std::string> next(SubscriptionPointer subscription);
  void end(Subscription& subscription);

  // Wakes the subscriptions of these accounts. The view has the rows.
  void publish(const std::vector<AccountRow>& accounts);
  // Before the context ends.
  void close() { reads_.close(); }

 private:
  // These two wait until the view has it. Nothing, or false, if that takes too long.
  boost::asio::awaitable<std::optional<AccountNumber>> recorded(AccountId account);
  boost::asio::awaitable<bool> has_event(AccountNumber account, EventNumber event);
  // Whether `is_there`; asks again whenever the account has changed.
  boost::asio::awaitable<bool> wait_for(AccountNumber account, std::function<bool()> is_there);
  bool is_recorded(const AccountId& account) const;

  boost::asio::io_context& context_;
  const std::optional<MarketView>& view_;
  CoreClient& core_;
  AddressTurns& turns_;
  const HttpLimits& limits_;
  AddressTurns reads_{context_, limits_.event_reads_max};
  std::multimap<AccountNumber, Event*> waiting_;  // for events of the account; no_index: of any
};

}  // namespace exchange
