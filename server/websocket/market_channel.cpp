#include "websocket/market_channel.hpp"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/buffers_to_string.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/websocket.hpp>
#include <deque>
#include <functional>
#include <optional>
#include <utility>

#include "websocket/frame_stream.hpp"

namespace exchange {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
namespace websocket = beast::websocket;

// One connection. serve() reads from it; a separate coroutine writes while there is a backlog.
class MarketChannel::Subscriber : public std::enable_shared_from_this<Subscriber> {
 public:
  Subscriber(AnyStream stream, std::string arrived, const PeerAddress& address_,
             const WebSocketLimits& limits, Metrics& metrics, const std::uint64_t& turn)
      : address(address_),
        socket_(FrameStream(std::move(stream), std::move(arrived))),
        limits_(limits),
        metrics_(metrics),
        turn_(turn) {
    socket_.auto_fragment(false);
    // pings an idle connection, closes a silent one
    auto timeout = websocket::stream_base::timeout::suggested(beast::role_type::server);
    timeout.idle_timeout = std::chrono::milliseconds(limits.websocket_idle_ms);
    socket_.set_option(timeout);
    socket_.read_message_max(limits.websocket_message_bytes_max);
    socket_.text(true);
    // reports that the client closes the connection
    socket_.control_callback([this](websocket::frame_type kind, beast::string_view) {
      if (kind == websocket::frame_type::close) note_over();
    });
    socket_.next_layer().on_over = [this] { note_over(); };
    Metrics::add(metrics_.websockets);
  }
  ~Subscriber() { metrics_.websockets.fetch_sub(1, std::memory_order_relaxed); }

  asio::awaitable<bool> accept(const http::request<http::string_body>& handshake) {
    const auto [error] = co_await socket_.async_accept(handshake, use_tuple);
    accepted_ = !error;
    if (accepted_ && close_) write_on();
    co_return !error;
  }
  // Returns the next message; nothing at the end of the connection. First waits until the backlog
  // is at most half full, so that many snapshots are sent one after another.
  asio::awaitable<std::optional<std::string>> read() {
    co_await has_room();
    beast::flat_buffer buffer;
    beast::error_code error;
    if (socket_.next_layer().has_message(limits_.websocket_message_bytes_max)) {
      socket_.read(buffer, error);
      if (error) co_await socket_.next_layer().async_wait_for_end(use_tuple);
    } else {
      error = std::get<0>(co_await socket_.async_read(buffer, use_tuple));
    }
    if (error == beast::error::timeout) Metrics::add(metrics_.websockets_dropped);
    if (error) co_return std::nullopt;
    co_return beast::buffers_to_string(buffer.data());
  }
  bool last_was_text() const { return socket_.got_text(); }
  // Waits until the backlog is at most half full, or the connection is over.
  asio::awaitable<void> has_room() {
    while (backlog_bytes_ > limits_.websocket_backlog_bytes_max / 2 && !is_over()) {
      write_on();
      co_await backlog_shrank_.async_wait(use_tuple);
    }
  }
  bool is_over() const { return failed_ || close_ || over_; }
  // Waits until fewer than `at_once` subscriptions of accounts are unanswered, and none of this
  // account.
  asio::awaitable<void> may_begin(const std::string& account) {
    constexpr std::size_t at_once = 16;
    while (!is_over() && (beginning_.size() >= at_once || beginning_.contains(account)))
      co_await one_begun_.async_wait(use_tuple);
  }
  void note_beginning(const std::string& account) {
    beginning_.insert(account);
    accounts.try_emplace(account);
  }
  // The answer may be a refusal; an earlier subscription of the account then continues.
  void note_answered(const std::string& account) {
    beginning_.erase(account);
    if (!accounts[account]) accounts.erase(account);
    one_begun_.cancel();
  }

  void send(const Message& message) {
    add(message);
    write_on();
  }
  // Adds a message to the backlog, which write_on() sends.
  void add(const Message& message) {
    if (is_over()) return;
    if (std::exchange(last_turn_, turn_) != turn_) backlog_before_turn_ = backlog_bytes_;
    // all symbols may change in one turn: allow at most this many times the limit
    constexpr std::size_t one_turn = 16;
    if (backlog_before_turn_ > limits_.websocket_backlog_bytes_max ||
        backlog_bytes_ > one_turn * limits_.websocket_backlog_bytes_max)
      return cut();
    backlog_.push_back(message);
    backlog_bytes_ += message->size();
  }
  void write_on() {
    if (writing_ || !accepted_) return;  // the response of the handshake goes first
    writing_ = true;
    asio::co_spawn(socket_.get_executor(), write(),
                   [self = shared_from_this()](const std::exception_ptr& problem) {
                     if (problem) self->end();
                   });
  }
  // Closes the connection after the backlog is written. No more messages are sent.
  void close(websocket::close_reason reason) {
    if (close_) return;
    close_ = std::move(reason);
    end_orders();
    backlog_shrank_.cancel();
    one_begun_.cancel();
    write_on();
  }

  // Closes the connection immediately; operations under way fail.
  void end() {
    failed_ = true;
    boost::system::error_code ignored;  // the kernel also drops its unsent bytes
    if (!backlog_.empty())
      socket_.next_layer().socket().set_option(asio::socket_base::linger(true, 0), ignored);
    backlog_.resize(std::min(backlog_.size(), under_way_));
    socket_.next_layer().close();
    backlog_shrank_.cancel();
    one_begun_.cancel();
  }

  const PeerAddress address;
  std::set<SymbolNumber> symbols;
  std::map<std::string, AccountEvents::SubscriptionPointer> accounts;  // null: none has begun yet
  AccountEvents::ConnectionPointer events;                             // of the accounts
  std::optional<OrderEntry> orders;                                    // from the first request on
  bool may_subscribe() const {
    return symbols.size() + accounts.size() < limits_.websocket_subscriptions_max;
  }

 private:
  // No message is received or sent any more, although the client may close TCP much later.
  void note_over() {
    over_ = true;
    end_orders();
    backlog_shrank_.cancel();
    one_begun_.cancel();
  }
  void end_orders() {
    if (orders) orders->end();
  }
  // Ends the connection of a client that does not read: a close frame would not arrive either.
  void cut() {
    Metrics::add(metrics_.websockets_dropped);
    end();
  }
  asio::awaitable<void> write() {
    constexpr std::size_t together_max = 65'536;
    while (!backlog_.empty()) {
      std::string frames;
      std::size_t together = 0;
      do {
        together += backlog_[under_way_]->size();
        append_frame(*backlog_[under_way_++], frames);
      } while (under_way_ < backlog_.size() &&
               together + backlog_[under_way_]->size() <= together_max);
      const auto [error, bytes] =
          co_await asio::async_write(socket_.next_layer(), asio::buffer(frames), use_tuple);
      failed_ |= bool(error);
      backlog_shrank_.cancel();
      if (failed_ || over_) {
        note_over();
        co_return;  // writing_ stays true, so that no write begins any more
      }
      backlog_bytes_ -= together;
      backlog_.erase(backlog_.begin(), backlog_.begin() + std::ptrdiff_t(under_way_));
      under_way_ = 0;
    }
    if (close_) {
      co_await socket_.async_close(*close_, use_tuple);
      co_return;
    }
    writing_ = false;
  }

  websocket::stream<FrameStream, false> socket_;  // without compression
  const WebSocketLimits& limits_;
  Metrics& metrics_;
  std::deque<Message> backlog_;
  std::size_t under_way_ = 0;  // messages at the front that are being written
  std::size_t backlog_bytes_ = 0, backlog_before_turn_ = 0;
  const std::uint64_t& turn_;
  std::uint64_t last_turn_ = 0;
  bool accepted_ = false, writing_ = false, failed_ = false, over_ = false;
  asio::steady_timer backlog_shrank_{socket_.get_executor(),
                                     asio::steady_timer::time_point::max()};  // canceled then
  std::set<std::string> beginning_;                                           // accounts
  asio::steady_timer one_begun_{socket_.get_executor(),
                                asio::steady_timer::time_point::max()};  // canceled then
  std::optional<websocket::close_reason> close_;
};

asio::awaitable<void> MarketChannel::serve(AnyStream stream, Handshake handshake,
                                           std::string arrived, AddressQuota::Share room) {
  const auto subscriber = std::make_shared<Subscriber>(std::move(stream), std::move(arrived),
                                                       room.address(), limits_, metrics_, turn_);
  subscribers_.insert(subscriber);
  std::exception_ptr problem;
  try {
    if (co_await subscriber->accept(handshake)) co_await listen(*subscriber);
  } catch (...) {
    problem = std::current_exception();
  }
  for (const SymbolNumber symbol : subscriber->symbols) forget(*subscriber, symbol);
  if (subscriber->events)
    asio::post(answers_, [this, events = subscriber->events, accounts = subscriber->accounts] {
      for (const auto& [id, account] : accounts)
        if (account) accounts_.end(account);
      accounts_.end(*events);
    });
  subscriber->accounts.clear();
  subscribers_.erase(subscriber);
  subscriber->end();  // a write to a client that does not read would keep the connection open
  if (subscriber->orders) {
    subscriber->orders->end();
    co_await subscriber->orders->ended();  // `room` is held until then
  }
  if (problem) std::rethrow_exception(problem);
}

asio::awaitable<void> MarketChannel::listen(Subscriber& subscriber) {
  if (closed_) subscriber.close(*closed_);
  while (const std::optional<std::string> message = co_await subscriber.read()) {
    ++turn_;
    if (subscriber.is_over()) continue;  // it may still write
    if (subscriber.last_was_text())
      co_await handle(subscriber, *message);
    else
      subscriber.close(
          websocket::close_reason(websocket::close_code::unknown_data, "messages are JSON texts"));
  }
}

void MarketChannel::send(Subscriber& subscriber, std::string text) {
  subscriber.send(std::make_shared<const std::string>(std::move(text)));
}

asio::awaitable<void> MarketChannel::handle(Subscriber& subscriber, std::string message) {
  auto [json, is_json, problem] = read_json(message);
  if (!is_json) {
    send(subscriber, error_message("not JSON", to_code(ErrorCode::malformed_json)));
    subscriber.close(websocket::close_reason(websocket::close_code::bad_payload, "not JSON"));
    co_return;
  }
  if (std::optional<OrderMessage> order = read_order_message(json)) {
    order->bytes = message.size();
    if (problem) {
      order->problem = std::move(problem);
      order->members = JsonInput();
    }
    co_return co_await handle_order(subscriber, std::move(*order));
  }
  if (problem) {
    send(subscriber, error_message(problem.sentence, to_code(problem.code)));
    co_return;
  }
  const SubscriberRequest request = read_subscriber_request(json);
  if (request.kind == SubscriberRequest::Kind::unknown) {
    send(subscriber,
         error_message(R"(expected {"subscribe": "SYMBOL"} or {"subscribe": {"account": "ID", )"
                       R"("key": "KEY", "from": NUMBER}}, or "unsubscribe" for either, or a )"
                       R"(request with an "id")",
                       "unknown_message"));
    co_return;
  }
  if (request.of_account)
    co_await handle_account(subscriber, request);
  else
    co_await handle_symbol(subscriber, request);
}

asio::awaitable<void> MarketChannel::handle_order(Subscriber& subscriber, OrderMessage message) {
  if (message.id.is(JsonInput::Kind::null)) {
    send(subscriber, error_message(message.problem.sentence, to_code(message.problem.code)));
    co_return;
  }
  if (!subscriber.orders) {
    CoreClient::Permit permit = entry_.enter();
    if (!permit) co_return;  // the server stops, and closes the connection
    subscriber.orders.emplace(entry_, std::move(permit), protocol_, subscriber.address);
    spawn(subscriber, execute_orders(subscriber.shared_from_this()));
  }
  co_await subscriber.orders->has_room();
  subscriber.orders->take(std::move(message));
}

asio::awaitable<void> MarketChannel::execute_orders(SubscriberPointer subscriber) {
  const auto send_all = [this,
                         subscriber](std::vector<std::string> texts) -> asio::awaitable<void> {
    for (std::string& text : texts) {
      co_await subscriber->has_room();
      ++turn_;
      subscriber->add(std::make_shared<const std::string>(std::move(text)));
    }
    subscriber->write_on();
  };
  co_await subscriber->orders->run(send_all);
  if (closed_) subscriber->close(*closed_);
}

std::string MarketChannel::too_many(std::string_view account) const {
  return error_message("at most " + std::to_string(limits_.websocket_subscriptions_max) +
                           " subscriptions a connection",
                       "too_many_subscriptions", account);
}

asio::awaitable<void> MarketChannel::handle_account(Subscriber& subscriber,
                                                    SubscriberRequest request) {
  co_await subscriber.may_begin(request.name);
  if (subscriber.is_over()) co_return;
  const auto known = subscriber.accounts.find(request.name);
  const bool is_known = known != subscriber.accounts.end();
  if (request.kind == SubscriberRequest::Kind::unsubscribe) {
    if (is_known) {
      end(known->second);
      subscriber.accounts.erase(known);
    }
    send(subscriber, unsubscribed_message("account", request.name));
    co_return;
  }
  if (!is_known && !subscriber.may_subscribe()) {
    send(subscriber, too_many(request.name));
    co_return;
  }
  subscriber.note_beginning(request.name);
  if (!subscriber.events) {
    subscriber.events =
        std::make_shared<AccountEvents::Connection>(subscriber.address, write_update);
    spawn(subscriber, send_events(subscriber.shared_from_this()));
  }
  spawn(subscriber, begin(subscriber.shared_from_this(), std::move(request)));
}

void MarketChannel::spawn(Subscriber& subscriber, asio::awaitable<void> work) {
  asio::co_spawn(connections_, std::move(work),
                 [self = subscriber.shared_from_this()](const std::exception_ptr& problem) {
                   if (!problem) return;
                   self->end();
                   std::rethrow_exception(problem);
                 });
}

asio::awaitable<void> MarketChannel::begin(SubscriberPointer subscriber,
                                           SubscriberRequest request) {
  const auto refuse = [&](std::string_view sentence, std::string_view code) {
    send(*subscriber, error_message(sentence, code, request.name));
    subscriber->note_answered(request.name);
  };
  const auto id = parse_account_id(request.name);
  if (!id) {
    refuse(account_id_form, to_code(ErrorCode::malformed_id));
    co_return;
  }
  AccountEvents::Request asked{*id, std::move(request.key), request.from};
  auto [begun, refusal, code] = co_await asio::co_spawn(
      answers_, accounts_.begin(subscriber->events, std::move(asked)), asio::use_awaitable);
  if (subscriber->is_over()) {
    if (begun) end(begun);
    co_return;
  }
  if (begun) {  // send_events() answers
    end(std::exchange(subscriber->accounts[request.name], std::move(begun)));
    co_return;
  }
  refuse(refusal, code);
}

// Sends a few messages at a time, of all its accounts, so that a connection that takes them slowly
// keeps few in memory.
asio::awaitable<void> MarketChannel::send_events(SubscriberPointer subscriber) {
  while (true) {
    co_await subscriber->has_room();
    const std::vector<AccountEvents::Message> messages =
        co_await asio::co_spawn(answers_, accounts_.next(subscriber->events), asio::use_awaitable);
    co_await subscriber->has_room();
    if (messages.empty() || subscriber->is_over()) co_return;
    ++turn_;
    for (const auto& [account, text, is_answer, is_last] : messages) {
      const std::string id(account->account.view());
      const auto known = subscriber->accounts.find(id);
      if (known == subscriber->accounts.end() || known->second != account) continue;
      send(*subscriber, text);
      if (is_answer) subscriber->note_answered(id);
      if (is_last) subscriber->accounts.erase(known);
    }
  }
}

void MarketChannel::end(const AccountEvents::SubscriptionPointer& account) {
  if (account) asio::post(answers_, [this, account] { accounts_.end(account); });
}

asio::awaitable<void> MarketChannel::handle_symbol(Subscriber& subscriber,
                                                   SubscriberRequest request) {
  const std::string reason = co_await why_stale(readiness_, entry_, limits_);
  if (!reason.empty()) {
    send(subscriber, error_message(reason, "service_unavailable"));
    co_return;
  }
  const bool subscribes = request.kind == SubscriberRequest::Kind::subscribe;
  const std::int64_t asked_ns = monotonic_ns();
  const auto look = [&] {
    return asio::co_spawn(answers_, look_up(request.name, subscribes, subscriber.address),
                          asio::use_awaitable);
  };
  Found found = co_await look();
  // The core knows a new symbol before the tables do, and the tables before the view does.
  asio::steady_timer timer(connections_);
  for (bool behind = true; !found.symbol && behind && !subscriber.is_over();) {
    behind = are_tables_behind(asked_ns);
    timer.expires_after(std::chrono::milliseconds(5));
    co_await timer.async_wait(use_tuple);
    found = co_await look();
  }
  if (!found.symbol) {
    send(subscriber,
         error_message("unknown symbol '" + request.name + "'", to_code(Reason::unknown_symbol)));
  } else if (!subscribes) {
    if (subscriber.symbols.erase(*found.symbol) > 0) forget(subscriber, *found.symbol);
    send(subscriber, unsubscribed_message("symbol", request.name));
  } else if (!subscriber.may_subscribe() && !subscriber.symbols.contains(*found.symbol)) {
    asio::post(answers_, [this, symbol = *found.symbol] { unfollow(symbol); });
    send(subscriber, too_many({}));
  } else {
    if (!subscriber.symbols.insert(*found.symbol).second)  // counted before
      asio::post(answers_, [this, symbol = *found.symbol] { unfollow(symbol); });
    subscribers_of_[*found.symbol].insert(&subscriber);
    subscriber.send(found.message);
  }
}

bool MarketChannel::are_tables_behind(std::int64_t since_ns) const {
  const std::int64_t now_ns = monotonic_ns(), age_ns = now_ns - since_ns;
  return entry_.attached() && age_ns < std::int64_t(limits_.stale_ms) * 1'000'000 &&
         entry_.health().projection_lag_ns(now_ns) > age_ns;
}

// Ends the subscription of the symbol.
void MarketChannel::forget(Subscriber& subscriber, SymbolNumber symbol) {
  const auto found = subscribers_of_.find(symbol);
  found->second.erase(&subscriber);
  if (found->second.empty()) subscribers_of_.erase(found);
  asio::post(answers_, [this, symbol] { unfollow(symbol); });
}

asio::awaitable<MarketChannel::Found> MarketChannel::look_up(std::string symbol, bool follows,
                                                             PeerAddress address) {
  const AddressTurns::Turn turn = co_await turns_.take(address);
  const auto name = parse_symbol_name(symbol);
  Found found;
  if (name && view_) found.symbol = view_->symbol_number(*name);
  if (found.symbol && follows) {
    ++followed_[*found.symbol];
    found.message = snapshot(view_->symbols()[*found.symbol]);
  }
  co_return found;
}

void MarketChannel::unfollow(SymbolNumber symbol) {
  const auto found = followed_.find(symbol);
  if (--found->second == 0) followed_.erase(found);
}

MarketChannel::Message MarketChannel::snapshot(const MarketView::Symbol& symbol) const {
  constexpr std::size_t trades = 50;
  return std::make_shared<const std::string>(
      snapshot_message(symbol, limits_.book_levels_max, trades));
}

void MarketChannel::publish(const std::vector<MarketView::Change>& changes) {
  std::vector<std::pair<SymbolNumber, Message>> messages;
  for (const MarketView::Change& change : changes) {
    if (!followed_.contains(change.symbol)) continue;
    const std::size_t entries =
        change.levels[0].size() + change.levels[1].size() + change.trades.size();
    const MarketView::Symbol& symbol = view_->symbols()[change.symbol];
    messages.emplace_back(
        change.symbol, entries > limits_.update_entries_max
                           ? snapshot(symbol)
                           : std::make_shared<const std::string>(update_message(symbol, change)));
  }
  if (messages.empty()) return;
  asio::post(connections_, [this, messages = std::move(messages)] { deliver(messages); });
}

void MarketChannel::deliver(const std::vector<std::pair<SymbolNumber, Message>>& messages) {
  ++turn_;
  for (const auto& [symbol, message] : messages) {
    const auto found = subscribers_of_.find(symbol);
    if (found == subscribers_of_.end()) continue;
    for (Subscriber* const subscriber : found->second) subscriber->send(message);
  }
}

void MarketChannel::close(websocket::close_reason reason, bool stopping) {
  for (const SubscriberPointer& subscriber : subscribers_) {
    if (stopping && subscriber->orders && !subscriber->orders->has_ended())
      subscriber->orders->end();  // its last responses go first
    else
      subscriber->close(reason);
  }
  if (!stopping) return;
  closed_ = std::move(reason);
  asio::co_spawn(connections_, end_slow_subscribers(), asio::detached);
}

// Ends the subscribers that do not take their last responses within drain_ms.
asio::awaitable<void> MarketChannel::end_slow_subscribers() {
  asio::steady_timer timer(connections_, std::chrono::milliseconds(limits_.drain_ms));
  co_await timer.async_wait(use_tuple);
  for (const SubscriberPointer& subscriber : subscribers_) subscriber->end();
}

}  // namespace exchange
