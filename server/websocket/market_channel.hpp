#pragma once
// MarketChannel serves WebSockets: it knows the subscribers of each symbol and the messages that
// each subscriber has not taken yet. Events of accounts come from AccountEvents; requests go to the
// OrderEntry of the connection.
// The thread of answers, which has the view, makes the messages. The thread of connections has the
// connections and subscribers. One thread receives the posts of the other in their order, so a
// subscriber gets its snapshot before the updates that follow it. Owner: HttpServer. Thread: that
// of connections, except where noted.

#include <boost/asio/awaitable.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/websocket/rfc6455.hpp>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/address_limits.hpp"
#include "gateway/account_events.hpp"
#include "gateway/address_turns.hpp"
#include "market_data/market_view.hpp"
#include "metrics/metrics.hpp"
#include "net/any_stream.hpp"
#include "websocket/limits.hpp"
#include "websocket/messages.hpp"
#include "websocket/order_entry.hpp"

namespace exchange {

class MarketChannel {
 public:
  using Handshake = boost::beast::http::request<boost::beast::http::string_body>;
  // `connections` and `answers` are the contexts of the two threads; `view` and `turns` belong to
  // the thread of answers, `entry` to that of connections. `connections_max` limits the WebSockets
  // that are open at once.
  MarketChannel(boost::asio::io_context& connections, boost::asio::io_context& answers,
                const std::optional<MarketView>& view, AccountEvents& accounts, AddressTurns& turns,
                CoreClient& entry, Readiness& readiness, const WebSocketLimits& limits,
                std::size_t connections_max, const ProtocolLimits& protocol, Metrics& metrics)
      : connections_(connections),
        answers_(answers),
        view_(view),
        accounts_(accounts),
        turns_(turns),
        entry_(entry),
        readiness_(readiness),
        limits_(limits),
        protocol_(protocol),
        metrics_(metrics),
        room_(connections_max, per_address_max(0, connections_max)) {}

  // Returns a share for one more subscriber of this address; an empty share if the limit is
  // reached.
  AddressQuota::Share take_room(const PeerAddress& address) { return room_.take(address); }
  // Answers the handshake and serves the subscriber to its end. `arrived` are the bytes behind the
  // handshake.
  boost::asio::awaitable<void> serve(AnyStream stream, Handshake handshake, std::string arrived,
                                     AddressQuota::Share room);
  // Closes all subscribers. If the server is `stopping`, first ends their order entry, and also
  // closes those that come later.
  void close(boost::beast::websocket::close_reason reason, bool stopping);

  // Call it after both threads have ended.
  void forget_all() {
    subscribers_of_.clear();
    subscribers_.clear();
  }

  // Sends each change to the subscribers of its symbol. Thread of answers.
  void publish(const std::vector<MarketView::Change>& changes);

 private:
  class Subscriber;
  using SubscriberPointer = std::shared_ptr<Subscriber>;
  using Message = std::shared_ptr<const std::string>;  // one text for all its receivers
  // The result of a look-up in the view of a symbol that a subscriber named.
  struct Found {
    std::optional<SymbolNumber> symbol;
    Message message;  // for a subscription: the snapshot
  };

  boost::asio::awaitable<void> listen(Subscriber& subscriber);
  boost::asio::awaitable<void> handle(Subscriber& subscriber, std::string message);
  boost::asio::awaitable<void> handle_symbol(Subscriber& subscriber, SubscriberRequest request);
  boost::asio::awaitable<void> handle_account(Subscriber& subscriber, SubscriberRequest request);
  boost::asio::awaitable<void> handle_order(Subscriber& subscriber, OrderMessage message);
  boost::asio::awaitable<void> execute_orders(SubscriberPointer subscriber);
  boost::asio::awaitable<void> end_slow_subscribers();
  // Whether the tables lack changes that were committed before this time. False if this time is
  // longer than stale_ms ago.
  bool are_tables_behind(std::int64_t since_ns) const;
  // Begins to follow an account, while the connection continues.
  boost::asio::awaitable<void> begin(SubscriberPointer subscriber, SubscriberRequest request);
  boost::asio::awaitable<void> send_events(SubscriberPointer subscriber);
  // Starts work of this connection. If the work throws, the connection ends.
  void spawn(Subscriber& subscriber, boost::asio::awaitable<void> work);
  void end(const AccountEvents::SubscriptionPointer& account);  // null: does nothing
  void send(Subscriber& subscriber, std::string text);
  std::string too_many(std::string_view account) const;  // subscriptions
  void deliver(const std::vector<std::pair<SymbolNumber, Message>>& messages);
  void forget(Subscriber& subscriber, SymbolNumber symbol);

  // Thread of answers. A look-up for a subscription counts the symbol as followed from then on,
  // until unfollow().
  boost::asio::awaitable<Found> look_up(std::string symbol, bool follows, PeerAddress address);
  void unfollow(SymbolNumber symbol);
  Message snapshot(const MarketView::Symbol& symbol) const;

  boost::asio::io_context& connections_;
  boost::asio::io_context& answers_;
  const std::optional<MarketView>& view_;
  AccountEvents& accounts_;  // thread of answers
  AddressTurns& turns_;
  CoreClient& entry_;
  Readiness& readiness_;
  const WebSocketLimits& limits_;
  const ProtocolLimits& protocol_;
  Metrics& metrics_;
  AddressQuota room_;
  std::optional<boost::beast::websocket::close_reason> closed_;  // the server stops
  // A subscriber is disconnected if its backlog is too large at the beginning of a turn; messages
  // of the turn itself do not count.
  std::uint64_t turn_ = 0;
  std::set<SubscriberPointer> subscribers_;
  std::map<SymbolNumber, std::set<Subscriber*>> subscribers_of_;
  std::map<SymbolNumber, std::size_t> followed_;  // subscriptions; thread of answers
};

}  // namespace exchange
