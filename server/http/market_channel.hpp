#pragma once
// Subscribers of the market over WebSocket: who wants which symbol, and what they have not taken
// yet. Owner and thread: the HTTP thread.

#include <boost/asio/awaitable.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "http/limits.hpp"
#include "market_data/market_view.hpp"
#include "metrics/metrics.hpp"
#include "net/any_stream.hpp"

namespace exchange {

class MarketChannel {
 public:
  MarketChannel(const MarketView& view, const HttpLimits& limits, Metrics& metrics)
      : view_(view), limits_(limits), metrics_(metrics) {}

  // Whether one more subscriber is welcome.
  bool has_room() const { return subscribers_.size() < limits_.connections_max / 2; }
  // Answers the handshake and serves the subscriber to its end.
  boost::asio::awaitable<void> serve(
      AnyStream stream, boost::beast::http::request<boost::beast::http::string_body> handshake);
  // What is sent from here to the next call cuts nobody off who had taken nearly all of what was
  // sent before.
  void begin_turn() { ++turn_; }
  // Tells each change to those who subscribed to its symbol.
  void publish(const std::vector<MarketView::Change>& changes);
  // The server stops: tells every subscriber, and takes no more subscriptions.
  void close();

 private:
  class Subscriber;
  using SubscriberPointer = std::shared_ptr<Subscriber>;
  boost::asio::awaitable<void> listen(Subscriber& subscriber);
  void handle(Subscriber& subscriber, const std::string& message);
  void subscribe(Subscriber& subscriber, SymbolNumber number);
  void unsubscribe(Subscriber& subscriber, SymbolNumber number);
  void send(Subscriber& subscriber, std::string text);
  std::string snapshot(const MarketView::Symbol& symbol) const;

  const MarketView& view_;
  const HttpLimits& limits_;
  Metrics& metrics_;
  bool closed_ = false;
  std::uint64_t turn_ = 0;
  std::set<SubscriberPointer> subscribers_;
  std::map<SymbolNumber, std::set<Subscriber*>> subscribers_of_;
};

}  // namespace exchange
