#include "http/market_channel.hpp"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/buffers_to_string.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/websocket.hpp>
#include <deque>
#include <optional>
#include <utility>

#include "http/api.hpp"

namespace exchange {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
namespace websocket = beast::websocket;

namespace {

constexpr auto use_tuple = asio::as_tuple(asio::use_awaitable);
using Message = std::shared_ptr<const std::string>;  // one text for all that it is sent to

}  // namespace

// One connection. Reads in serve(); writes in a coroutine of its own while it has a backlog.
class MarketChannel::Subscriber : public std::enable_shared_from_this<Subscriber> {
 public:
  Subscriber(AnyStream stream, const HttpLimits& limits, Metrics& metrics,
             const std::uint64_t& turn)
      : socket_(std::move(stream)), limits_(limits), metrics_(metrics), turn_(turn) {
    socket_.next_layer().expires_never();
    socket_.auto_fragment(false);
    // pings an idle connection, closes a silent one
    auto timeout = websocket::stream_base::timeout::suggested(beast::role_type::server);
    timeout.idle_timeout = std::chrono::milliseconds(limits.websocket_idle_ms);
    socket_.set_option(timeout);
    socket_.read_message_max(limits.websocket_message_bytes_max);
    socket_.text(true);
    Metrics::add(metrics_.websockets);
  }
  ~Subscriber() { metrics_.websockets.fetch_sub(1, std::memory_order_relaxed); }

  asio::awaitable<bool> accept(const http::request<http::string_body>& handshake) {
    const auto [error] = co_await socket_.async_accept(handshake, use_tuple);
    accepted_ = !error;
    if (accepted_ && close_) write_on();
    co_return !error;
  }
  // The next message; nothing at the end of the connection. Waits first until the backlog is at
  // most half full, so that many snapshots are sent one after another.
  asio::awaitable<std::optional<std::string>> read() {
    while (backlog_bytes_ > limits_.websocket_backlog_bytes_max / 2 && !failed_) {
      backlog_shrank_.expires_at(asio::steady_timer::time_point::max());
      co_await backlog_shrank_.async_wait(use_tuple);
    }
    beast::flat_buffer buffer;
    const auto [error, bytes] = co_await socket_.async_read(buffer, use_tuple);
    if (error == beast::error::timeout) Metrics::add(metrics_.websockets_dropped);
    if (error) co_return std::nullopt;
    co_return beast::buffers_to_string(buffer.data());
  }
  bool last_was_text() const { return socket_.got_text(); }

  void send(const Message& message) {
    if (close_ || failed_) return;
    if (std::exchange(last_turn_, turn_) != turn_) backlog_before_turn_ = backlog_bytes_;
    // all symbols may change in one turn: this many times the limit at most
    constexpr std::size_t one_turn = 16;
    if (backlog_before_turn_ > limits_.websocket_backlog_bytes_max ||
        backlog_bytes_ > one_turn * limits_.websocket_backlog_bytes_max)
      return cut();
    backlog_.push_back(message);
    backlog_bytes_ += message->size();
    write_on();
  }
  // Closes after the backlog is written. Nothing is sent after it.
  void close(websocket::close_reason reason) {
    if (close_) return;
    close_ = std::move(reason);
    write_on();
  }

  // Closes at once; operations under way fail.
  void end() {
    failed_ = true;
    boost::system::error_code ignored;  // the kernel drops its unsent bytes too
    if (!backlog_.empty())
      socket_.next_layer().socket().set_option(asio::socket_base::linger(true, 0), ignored);
    backlog_.resize(std::min<std::size_t>(backlog_.size(), 1));  // the first may be under way
    socket_.next_layer().close();
    backlog_shrank_.cancel();
  }

  std::set<SymbolNumber> symbols;

 private:
  // It does not read: a close frame would not arrive either.
  void cut() {
    Metrics::add(metrics_.websockets_dropped);
    end();
  }
  void write_on() {
    if (writing_ || !accepted_) return;  // the response of the handshake goes first
    writing_ = true;
    asio::co_spawn(socket_.get_executor(), write(),
                   [self = shared_from_this()](const std::exception_ptr& problem) {
                     if (problem) self->end();
                   });
  }
  asio::awaitable<void> write() {
    while (!backlog_.empty()) {
      const auto [error, bytes] =
          co_await socket_.async_write(asio::buffer(*backlog_.front()), use_tuple);
      failed_ |= bool(error);
      backlog_shrank_.cancel();
      if (failed_) co_return;  // writing_ stays true: nothing is written any more
      backlog_bytes_ -= backlog_.front()->size();
      backlog_.pop_front();
    }
    if (close_) {
      co_await socket_.async_close(*close_, use_tuple);
      co_return;
    }
    writing_ = false;
  }

  websocket::stream<AnyStream, false> socket_;  // without compression
  const HttpLimits& limits_;
  Metrics& metrics_;
  std::deque<Message> backlog_;  // the first is being written
  std::size_t backlog_bytes_ = 0, backlog_before_turn_ = 0;
  const std::uint64_t& turn_;
  std::uint64_t last_turn_ = 0;
  bool accepted_ = false, writing_ = false, failed_ = false;
  asio::steady_timer backlog_shrank_{socket_.get_executor()};
  std::optional<websocket::close_reason> close_;
};

asio::awaitable<void> MarketChannel::serve(AnyStream stream,
                                           http::request<http::string_body> handshake) {
  const auto subscriber = std::make_shared<Subscriber>(std::move(stream), limits_, metrics_, turn_);
  subscribers_.insert(subscriber);
  std::exception_ptr problem;
  try {
    if (co_await subscriber->accept(handshake)) co_await listen(*subscriber);
  } catch (...) {
    problem = std::current_exception();
  }
  for (const SymbolNumber symbol : subscriber->symbols)
    subscribers_of_[symbol].erase(subscriber.get());
  subscribers_.erase(subscriber);
  subscriber->end();  // a write to a client that does not read would keep the connection open
  if (problem) std::rethrow_exception(problem);
}

asio::awaitable<void> MarketChannel::listen(Subscriber& subscriber) {
  if (closed_)
    subscriber.close(
        websocket::close_reason(websocket::close_code::going_away, "the server is stopping"));
  while (const std::optional<std::string> message = co_await subscriber.read()) {
    begin_turn();
    if (subscriber.last_was_text())
      handle(subscriber, *message);
    else
      subscriber.close(
          websocket::close_reason(websocket::close_code::unknown_data, "messages are JSON texts"));
  }
}

void MarketChannel::send(Subscriber& subscriber, std::string text) {
  subscriber.send(std::make_shared<const std::string>(std::move(text)));
}

void MarketChannel::handle(Subscriber& subscriber, const std::string& message) {
  const SubscriberRequest request = read_subscriber_request(message);
  using Kind = SubscriberRequest::Kind;
  if (request.kind == Kind::not_json) {
    send(subscriber, error_message("not JSON", "malformed_json"));
    return subscriber.close(
        websocket::close_reason(websocket::close_code::bad_payload, "not JSON"));
  }
  if (request.kind == Kind::unknown)
    return send(subscriber,
                error_message(R"(expected {"subscribe": "SYMBOL"} or {"unsubscribe": "SYMBOL"})",
                              "unknown_message"));
  const auto name = parse_symbol_name(request.symbol);
  const auto number = name ? view_.symbol_number(*name) : std::nullopt;
  if (!number)
    return send(subscriber, error_message("unknown symbol '" + request.symbol + "'",
                                          code_of(Reason::unknown_symbol)));
  if (request.kind == Kind::subscribe)
    subscribe(subscriber, *number);
  else
    unsubscribe(subscriber, *number);
}

void MarketChannel::unsubscribe(Subscriber& subscriber, SymbolNumber number) {
  subscriber.symbols.erase(number);
  subscribers_of_[number].erase(&subscriber);
  send(subscriber, unsubscribed_message(view_.symbols()[number].name.view()));
}

void MarketChannel::subscribe(Subscriber& subscriber, SymbolNumber number) {
  if (subscriber.symbols.size() >= limits_.websocket_subscriptions_max &&
      !subscriber.symbols.contains(number))
    return send(subscriber,
                error_message("at most " + std::to_string(limits_.websocket_subscriptions_max) +
                                  " subscriptions a connection",
                              "too_many_subscriptions"));
  subscriber.symbols.insert(number);
  subscribers_of_[number].insert(&subscriber);
  send(subscriber, snapshot(view_.symbols()[number]));
}

std::string MarketChannel::snapshot(const MarketView::Symbol& symbol) const {
  constexpr std::size_t trades = 50;
  return snapshot_message(symbol, limits_.book_levels_max, trades);
}

void MarketChannel::publish(const std::vector<MarketView::Change>& changes) {
  for (const MarketView::Change& change : changes) {
    const auto found = subscribers_of_.find(change.symbol);
    if (found == subscribers_of_.end() || found->second.empty()) continue;
    const std::size_t entries =
        change.levels[0].size() + change.levels[1].size() + change.trades.size();
    const MarketView::Symbol& symbol = view_.symbols()[change.symbol];
    const Message message = std::make_shared<const std::string>(
        entries > limits_.update_entries_max ? snapshot(symbol) : update_message(symbol, change));
    for (Subscriber* subscriber : found->second) subscriber->send(message);
  }
}

void MarketChannel::close() {
  closed_ = true;
  for (const SubscriberPointer& subscriber : subscribers_)
    subscriber->close(
        websocket::close_reason(websocket::close_code::going_away, "the server is stopping"));
}

}  // namespace exchange
