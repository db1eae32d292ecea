#pragma once
// AccountEvents sends connections the events of the accounts that they follow
// (docs/account-stream.md), in any format of a door. A connection gets its next message once it has
// taken the previous one. A live follower gets the rows of the last projections, which are in hand
// (in memory). A follower that is slow, or that reconnects, gets rows that are read from the
// tables. A slow client therefore needs little memory and loses no events.
// Invariants:
// 1. A follower gets each event once, in the order of the event numbers, without a gap.
// 2. Each event that it gets was committed and is in the tables.
// 3. Rows in hand follow each other without a gap. A connection has at most events_max of them;
//    the other events are read from the tables.
// 4. A row in hand equals the row of the tables. If the reference of its order is unknown, the
//    event is read from the tables.
// Owner: the door's server. Thread: that of the market view.

#include <boost/asio/awaitable.hpp>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/bursts.hpp"
#include "gateway/address_turns.hpp"
#include "gateway/core_client.hpp"
#include "gateway/limits.hpp"
#include "gateway/view_changes.hpp"
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
    std::deque<EventRow> in_hand = {};      // a message may contain some of them already
    bool rules_changed = false;             // since its newest message
    bool ready = false, over = false;
    // Whether the next event is in hand.
    bool is_live() const {
      return !in_hand.empty() && in_hand.front().number <= sent + 1 && in_hand.back().number > sent;
    }
  };
  using SubscriptionPointer = std::shared_ptr<Subscription>;
  struct Connection {
    Connection(const PeerAddress& peer, Write write_) : address(peer), write(write_) {}
    const PeerAddress address;
    const Write write;
    std::deque<SubscriptionPointer> ready;  // those that have something to send
    std::size_t in_hand = 0;                // rows of its subscriptions
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
  void end(Connection& connection);

  // Keeps the events of followed accounts in hand. Call it before the view gets the rows.
  void take(const Rows& rows);
  // Wakes the followers of these accounts. Call it once the view has the rows.
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
  // Reports to the core whether clients wait for events: it then projects events soon.
  void update_expected();
  void make_ready(const SubscriptionPointer& subscription);
  bool has_right_key(const Subscription& subscription) const;
  // Whether a message is available without a read of the tables.
  bool has_message(const Subscription& subscription) const;
  Message message(const SubscriptionPointer& subscription);
  Message events_in_hand(const SubscriptionPointer& subscription);
  std::string write(const Subscription& subscription, Update::Kind kind,
                    std::span<const EventRow> events = {}) const;
  void take_row(Subscription& subscription, const EventRow& row) const;
  static void drop_rows(Subscription& subscription, std::size_t count);
  // Drops the rows in hand up to the newest event that was sent.
  static void drop_sent(Subscription& subscription);
  // Both remove ready subscriptions from the connection: take_message() one that has_message(),
  // take_ready() those whose events must be read from the tables.
  void take_message(Connection& connection, std::vector<Message>& messages);
  std::vector<SubscriptionPointer> take_ready(Connection& connection,
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
  std::uint64_t checked_key_version_ = 0;
};

}  // namespace exchange
