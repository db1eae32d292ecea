#pragma once
// MarketChannel sends market data over WebSocket: it knows the subscribers of each symbol and the
// messages that each subscriber has not taken yet. Owner: HttpServer. Thread: the HTTP thread.

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

  // Whether one more subscriber is accepted.
  bool has_room() const { return subscribers_.size() < limits_.connections_max / 2; }
  // Answers the handshake and serves the subscriber to its end.
  boost::asio::awaitable<void> serve(
      AnyStream stream, boost::beast::http::request<boost::beast::http::string_body> handshake);
  // A subscriber is disconnected for its backlog at the beginning of a turn, not for what is sent
  // during the turn.
  void begin_turn() { ++turn_; }
  // Sends each change to the subscribers of its symbol.
  void publish(const std::vector<MarketView::Change>& changes);
  // The server stops: closes all subscribers, and those that come later.
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
