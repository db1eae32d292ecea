#pragma once
// AccountEvents gives connections the events of accounts that they follow
// (docs/account-stream.md), whatever the format of their door. A connection gets its next message
// once it has taken the one before. A live follower gets the rows of the last projections, which
// are in hand; one that is slow, or comes back, gets rows of the tables. So a slow client costs
// little memory, and what it missed is still there.
// Invariants:
// 1. A follower gets each event once, in the order of their numbers, without a gap.
// 2. What it gets was committed and is in the tables.
// 3. Rows in hand follow each other without a gap. A connection has events_max of them at most;
//    the rest is read from the tables.
// 4. A row in hand is the same as that of the tables: one whose reference is unknown is read.
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
  // What a client asks for.
  struct Request {
    AccountId account;
    std::string key = {};
    std::optional<EventNumber> from = {};  // the first event; none: a snapshot, and what follows it
  };
  // What a follower gets, for its door to write.
  struct Update {
    // snapshot: the account as it is, with the number of its newest event. subscribed: events from
    // `from` on follow. rules: the operator changed what the account may do, or its name. events:
    // at least one. key_changed: the subscription is over.
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
    const std::optional<EventNumber> from;  // none: with a snapshot
    const std::uint64_t key_version;        // of the account, before its key was checked
    bool begun = false;                     // its first message was made
    EventNumber sent = 0;                   // the newest event in a message, or in the snapshot
    std::deque<EventRow> in_hand = {};      // some may be in a message already
    bool rules_changed = false;             // since its newest message
    bool ready = false, over = false;
    // The next event is in hand.
    bool is_live() const {
      return !in_hand.empty() && in_hand.front().number <= sent + 1 && in_hand.back().number > sent;
    }
  };
  using SubscriptionPointer = std::shared_ptr<Subscription>;
  struct Connection {
    Connection(const PeerAddress& peer, Write write_) : address(peer), write(write_) {}
    const PeerAddress address;
    const Write write;
    std::deque<SubscriptionPointer> ready;  // with something to send
    std::size_t in_hand = 0;                // rows of its subscriptions
    bool over = false;
    Event* waiting = nullptr;  // of next()
  };
  using ConnectionPointer = std::shared_ptr<Connection>;

  // `view`, `changes` and `turns` are those of the thread.
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
  // Checks the key; has the events recorded, if they are not yet, and waits until the view has
  // them. Then next() has something for the connection.
  boost::asio::awaitable<Begun> begin(ConnectionPointer connection, Request request);
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

  // Before the view gets the rows: takes the events of followers in hand.
  void take(const Rows& rows);
  // Then, once the view has them: wakes the followers of these accounts.
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
  // What needs no reading of tables.
  bool has_message(const Subscription& subscription) const;
  Message message(const SubscriptionPointer& subscription);
  Message events_in_hand(const SubscriptionPointer& subscription);
  std::string write(const Subscription& subscription, Update::Kind kind,
                    std::span<const EventRow> events = {}) const;
  void take_row(Subscription& subscription, const EventRow& row) const;
  static void drop_rows(Subscription& subscription, std::size_t count);
  // Without rows in hand up to the newest that was sent.
  static void drop_sent(Subscription& subscription);
  // Take what is ready off the connection: such a message, or ranges of events to read.
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
  std::size_t beginning_ = 0;  // subscriptions
  std::uint64_t checked_key_version_ = 0;
};

}  // namespace exchange
