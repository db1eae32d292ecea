#pragma once
// AccountEvents sends connections the events of the accounts that they follow
// (docs/account-stream.md), in any format of a door. A connection gets its next message once it has
// taken the previous one. A live follower gets recent events, which the core shows once their batch
// is committed. A follower that is slow, or that reconnects, gets events that are read from the
// tables. A slow client therefore needs little memory and loses no events.
// Invariants:
// 1. A follower gets each event once, in the order of the event numbers, without a gap.
// 2. Each event that it gets was committed.
// 3. A recent event equals the row that the tables have later. An event whose symbol, or the
//    reference of whose order, is not known here yet does not become a recent one.
// 4. A connection keeps the events of at most one read of the tables, at most read_events_max.
// Owner: the door's server. Thread: that of the market view.

#include <boost/asio/awaitable.hpp>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/bursts.hpp"
#include "gateway/address_turns.hpp"
#include "gateway/core_client.hpp"
#include "gateway/limits.hpp"
#include "gateway/recent_events.hpp"
#include "gateway/view_changes.hpp"
#include "market_data/market_feed.hpp"
#include "market_data/market_view.hpp"

namespace exchange {

class AccountEvents {
 public:
  // The request of a client.
  struct Request {
    AccountId account;
    std::string key = {};
    std::optional<EventNumber> from = {};  // the first event; empty: a snapshot and later events
  };
  // The content of one message to a follower; its door writes it.
  struct Update {
    // snapshot: the current state of the account, with the number of its newest event. subscribed:
    // the events from `from` on follow. rules: the operator changed the rules of the account, or
    // its name. events: at least one event. key_changed: the subscription is over.
    enum class Kind : std::uint8_t { snapshot, subscribed, rules, events, key_changed };
    BOOST_DESCRIBE_NESTED_ENUM(Kind, snapshot, subscribed, rules, events, key_changed)
    Kind kind;
    const AccountId& account;
    const MarketView::Account& state;
    EventNumber from = 0;
    std::span<const EventRow> events = {};
  };
  using Write = std::string (*)(const MarketView& view, const Update& update,
                                const GatewayLimits& limits);

  struct Connection;
  // One connection that follows one account.
  struct Subscription {
    const AccountId account;
    const AccountNumber number;
    const std::shared_ptr<Connection> connection;
    const std::optional<EventNumber> from;  // empty: with a snapshot
    const std::uint64_t key_version;        // of the account, before its key was checked
    bool begun = false;                     // its first message was made
    EventNumber sent = 0;                   // the newest event in a message, or in the snapshot
    std::vector<EventRow> read = {};        // from the tables, for the next message
    bool rules_changed = false;             // since its newest message
    bool ready = false;  // in one of the two lists of its connection, or being read
    bool over = false;
  };
  using SubscriptionPointer = std::shared_ptr<Subscription>;
  struct Connection {
    Connection(const PeerAddress& peer, Write write_) : address(peer), write(write_) {}
    const PeerAddress address;
    const Write write;
    // those that have something to send, and among them those whose events must be read
    std::deque<SubscriptionPointer> ready, behind;
    bool reading = false;
    bool over = false;
    Event* waiting = nullptr;  // set while next() waits
  };
  using ConnectionPointer = std::shared_ptr<Connection>;

  // `view`, `changes` and `turns` belong to the same thread.
  AccountEvents(boost::asio::io_context& context, const std::optional<MarketView>& view,
                ViewChanges& changes, CoreClient& core, AddressTurns& turns,
                const GatewayLimits& limits)
      : context_(context),
        view_(view),
        changes_(changes),
        core_(core),
        turns_(turns),
        limits_(limits) {}

  struct Begun {
    SubscriptionPointer subscription;  // null: refused
    std::string refusal;               // a sentence
    std::string_view code = {};        // of the refusal
  };
  // Checks the key. If the events of the account are not recorded yet, asks the core to record
  // them. Waits until the view has them; next() then has a message for the connection.
  boost::asio::awaitable<Begun> begin(ConnectionPointer connection, Request request);
  // Waits for the next messages of the connection and returns them with their subscriptions; they
  // have about `events_max` events in total. Empty: no more messages will come.
  struct Message {
    SubscriptionPointer subscription;
    std::string text;
    bool is_answer = false;  // the first message of the subscription
    bool is_last = false;    // the subscription is over
  };
  boost::asio::awaitable<std::vector<Message>> next(ConnectionPointer connection);
  void end(const SubscriptionPointer& subscription);
  static void end(Connection& connection);

  // Takes new events, and wakes the followers of their accounts. Call it before the view gets the
  // rows of these batches.
  void take(const MarketFeed::Live& live);
  // Wakes the followers of accounts in the rows. Call it once the view has the rows.
  void publish(const Rows& rows);
  // Ends the subscriptions whose key is not the key of their account any more, even if they have no
  // new events.
  void check_keys();
  // Call it before the context ends.
  void close() {
    reads_.close();
    begins_.close();
  }

 private:
  const MarketView::Account* recorded(const AccountId& account) const;  // null: not yet
  // Makes the core show events, if there are followers.
  void update_expected();
  void make_ready(const SubscriptionPointer& subscription);
  // Whether the next event is a recent one; whether it is that, or in the tables.
  bool is_live(const Subscription& subscription) const {
    return recent_.has(subscription.number, subscription.sent + 1);
  }
  bool has_more(const Subscription& subscription) const {
    return is_live(subscription) || view_->account(subscription.number).events > subscription.sent;
  }
  // Sets the reference of the event's order. Returns false if it may be unknown.
  bool complete(EventRow& event) const;
  bool has_right_key(const Subscription& subscription) const;
  // Whether a message is available without a read of the tables.
  bool has_message(const Subscription& subscription) const;
  Message message(const SubscriptionPointer& subscription);
  std::string write(const Subscription& subscription, Update::Kind kind,
                    std::span<const EventRow> events = {}) const;
  // Takes some messages of ready subscriptions. The other subscriptions are behind then.
  void take_messages(Connection& connection, std::vector<Message>& messages);
  // Reads the events of the subscriptions that are behind.
  boost::asio::awaitable<void> read(ConnectionPointer connection);
  std::vector<SubscriptionPointer> take_behind(Connection& connection,
                                               std::vector<EventRange>& ranges);

  boost::asio::io_context& context_;
  const std::optional<MarketView>& view_;
  ViewChanges& changes_;
  CoreClient& core_;
  AddressTurns& turns_;
  const GatewayLimits& limits_;
  AddressTurns reads_{context_, limits_.event_reads_max};
  AddressTurns begins_{context_, limits_.event_reads_max};
  Bursts bursts_;
  std::multimap<AccountNumber, SubscriptionPointer> followers_;
  std::size_t beginning_ = 0;  // subscriptions that begin() prepares
  bool expected_ = false;      // the core shows events
  RecentEvents recent_{limits_.recent_events_max};
  // The references of orders that the view does not have yet.
  std::unordered_map<OrderId, OrderReference> references_;
  // The core may not have shown all events up to this batch. The view gets them with the rows.
  BatchNumber unseen_ = 0;
  std::uint64_t checked_key_version_ = 0;
};

}  // namespace exchange
