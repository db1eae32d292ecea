#pragma once
// AccountChannel gives connections the events of accounts that they follow
// (docs/account-stream.md). It keeps none: a connection gets its next message once it has taken the
// one before, made of rows of the tables. So a slow client costs no memory, and what it missed is
// still there when it comes back.
// Owner: HttpServer. Thread: that of answers.

#include <boost/asio/awaitable.hpp>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/bursts.hpp"
#include "gateway/address_turns.hpp"
#include "gateway/core_client.hpp"
#include "gateway/view_changes.hpp"
#include "json/api.hpp"
#include "market_data/market_view.hpp"
#include "web/limits.hpp"

namespace exchange {

class AccountChannel {
 public:
  struct Connection;
  // One connection that follows one account.
  struct Subscription {
    const AccountId account;
    const AccountNumber number;
    const std::shared_ptr<Connection> connection;
    const std::optional<EventNumber> from;  // none: with a snapshot
    const std::uint64_t key_version;        // of the account, before its key was checked
    bool begun = false;                     // its first message was made
    EventNumber sent = 0;                   // the newest event in a message, or in the snapshot
    bool rules_changed = false;             // since its newest message
    bool ready = false, over = false;
  };
  using SubscriptionPointer = std::shared_ptr<Subscription>;
  struct Connection {
    explicit Connection(const PeerAddress& peer) : address(peer) {}
    const PeerAddress address;
    std::deque<SubscriptionPointer> ready;  // with something to send
    bool over = false;
    Event* waiting = nullptr;  // of next()
  };
  using ConnectionPointer = std::shared_ptr<Connection>;

  // `view`, `changes` and `turns` are those of the thread.
  AccountChannel(boost::asio::io_context& context, const std::optional<MarketView>& view,
                 ViewChanges& changes, CoreClient& core, AddressTurns& turns,
                 const HttpLimits& limits)
      : context_(context),
        view_(view),
        changes_(changes),
        core_(core),
        turns_(turns),
        limits_(limits) {}

  struct Begun {
    SubscriptionPointer subscription;  // null: refused
    std::string refusal;               // a message
  };
  // Checks the key; has the events recorded, if they are not yet, and waits until the view has
  // them. Then next() has something for the connection.
  boost::asio::awaitable<Begun> begin(ConnectionPointer connection, SubscriberRequest request);
  // The next messages of the connection, once there are any, and whose they are; about `events_max`
  // events in all. None: there will be none any more.
  struct Message {
    SubscriptionPointer subscription;
    std::string text;
    bool is_answer = false;  // the first of the subscription
    bool is_last = false;    // it is over
  };
  boost::asio::awaitable<std::vector<Message>> next(ConnectionPointer connection);
  void end(const SubscriptionPointer& subscription);
  void end(Connection& connection);

  // For the followers of these accounts. The view has the rows.
  void publish(const Rows& rows);
  // Ends the subscriptions whose key is no more that of their account; also those without events.
  void check_keys();
  // Before the context ends.
  void close() {
    reads_.close();
    begins_.close();
  }

 private:
  const MarketView::Account* recorded(const AccountId& account) const;  // null: not yet
  // Whether the core brings events into the tables soon.
  void update_expected();
  void make_ready(const SubscriptionPointer& subscription);
  bool has_right_key(const Subscription& subscription) const;
  // What needs no reading of events: its first message, rules, or that it is over.
  bool has_message(const Subscription& subscription) const;
  Message message(const SubscriptionPointer& subscription);
  std::string first_message(Subscription& subscription);
  // Take what is ready off the connection: such a message, or ranges of events to read.
  void take_message(Connection& connection, std::vector<Message>& messages);
  std::vector<SubscriptionPointer> take_ready(Connection& connection,
                                              std::vector<EventRange>& ranges);

  boost::asio::io_context& context_;
  const std::optional<MarketView>& view_;
  ViewChanges& changes_;
  CoreClient& core_;
  AddressTurns& turns_;
  const HttpLimits& limits_;
  AddressTurns reads_{context_, limits_.event_reads_max};
  AddressTurns begins_{context_, limits_.event_reads_max};
  Bursts bursts_;
  std::multimap<AccountNumber, SubscriptionPointer> followers_;
  std::size_t beginning_ = 0;  // subscriptions
  std::uint64_t checked_key_version_ = 0;
};

}  // namespace exchange
