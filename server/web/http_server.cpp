#include "web/http_server.hpp"

#include <algorithm>
#include <atomic>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/websocket/rfc6455.hpp>
#include <ctime>
#include <future>
#include <optional>
#include <set>

#include "base/address_limits.hpp"
#include "base/bursts.hpp"
#include "base/event.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "base/thread.hpp"
#include "gateway/account_events.hpp"
#include "gateway/address_turns.hpp"
#include "gateway/readiness.hpp"
#include "net/any_stream.hpp"
#include "net/listener.hpp"
#include "net/memory_budget.hpp"
#include "web/http_routes.hpp"
#include "web/request_head.hpp"
#include "websocket/market_channel.hpp"

namespace exchange {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;

namespace {

// The limit of one read; a longer body is read in several parts.
constexpr std::size_t read_bytes_max = 65'536;

std::string_view text_of(const beast::flat_buffer& received) {
  return {static_cast<const char*>(received.data().data()), received.size()};
}

// An HTTP request begins with the name of a method; a request for the XML port begins with its
// length, or with XML.
bool looks_like_xml(std::string_view received) {
  return !received.empty() && (received[0] == '<' || is_digit(received[0]));
}

HttpResponse refusal_of(const RequestHead& head, std::string_view received) {
  HttpHeader header;  // Beast does not parse it; the path determines the format of the error
  header.version(11);
  header.target({head.target.data(), head.target.size()});
  if (looks_like_xml(received))
    return http_error(
        header, http::status::bad_request,
        "this is the HTTP port: send XML to the server's --port, or as POST /api/xml");
  const bool malformed = head.status == unsigned(http::status::bad_request);
  return http_error(header, http::status(head.status),
                    (malformed ? "not an HTTP request: " : "") + std::string(head.problem));
}

// A target in absolute form takes precedence over Host (RFC 9112 3.2.2).
void split_absolute_target(HttpHeader& header) {
  const std::string target(header.target().data(), header.target().size());
  const auto absolute = parse_absolute(target);
  if (!absolute) return;
  header.set(http::field::host, {absolute->authority.data(), absolute->authority.size()});
  header.target({absolute->target.data(), absolute->target.size()});
}

// The time of day, as RFC 9110 5.6.7 writes it.
class HttpDate {
 public:
  const std::string& now() {
    const std::time_t now = std::time(nullptr);
    if (now == time_) return text_;
    std::tm utc{};
    gmtime_r(&now, &utc);
    char text[sizeof "Sun, 06 Nov 1994 08:49:37 GMT"];
    std::strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", &utc);
    time_ = now;
    return text_ = text;
  }

 private:
  std::time_t time_ = 0;
  std::string text_;
};

// Checks RFC 6455 4.2.1: one field, with the base64 of 16 bytes.
bool has_websocket_key(const HttpHeader& header) {
  constexpr std::size_t digits = 22;
  const auto keys = header.equal_range(http::field::sec_websocket_key);
  if (std::distance(keys.first, keys.second) != 1) return false;
  const auto key = keys.first->value();
  return key.size() == digits + 2 && key.ends_with("==") &&
         std::all_of(key.begin(), key.begin() + digits,
                     [](char c) { return is_letter(c) || is_digit(c) || c == '+' || c == '/'; });
}

// Returns the status and a sentence for an error of the parser; nothing if the connection ended.
std::optional<std::pair<http::status, std::string>> explain(const beast::error_code& error,
                                                            std::size_t body_bytes_max) {
  if (error == http::error::body_limit)
    return {{http::status::payload_too_large,
             "the body is over " + std::to_string(body_bytes_max) + " bytes"}};
  const bool malformed =
      error.category() == http::make_error_code(http::error::bad_target).category() &&
      error != http::error::end_of_stream && error != http::error::partial_message;
  if (!malformed) return {};
  return {{http::status::bad_request, "not an HTTP request: " + error.message()}};
}

}  // namespace

class HttpServer::State {
 public:
  State(const HttpOptions& options, const ServerInfo& info, MarketFeed& feed, const Store& store,
        Metrics& metrics, Authenticator* authenticator, Certificate* certificate,
        CloseDay close_day, Replayer::MakeDays make_days)
      : limits_(options.limits),
        metrics_(metrics),
        certificate_(certificate),
        feed_(feed),
        readiness_(options.limits, store.journal()),
        core_client_(answers_, store.journal(), metrics, authenticator, options.protocol.policy(),
                     options.limits.connections_max / 2),
        entry_(context_, store.journal(), metrics, authenticator, options.protocol.policy(),
               options.limits.connections_max / 2),
        replayer_(std::move(make_days), options.limits.replay),
        routes_{.limits = options.limits,
                .protocol = options.protocol,
                .view = view_,
                .core = core_client_,
                .entry = entry_,
                .readiness = readiness_,
                .store = store,
                .metrics = metrics,
                .certificate = certificate,
                .close_day = std::move(close_day),
                .replayer = replayer_,
                .context = answers_},
        accounts_(answers_, view_, routes_.changes, core_client_, routes_.turns, options.limits),
        channel_(context_, answers_, view_, accounts_, routes_.turns, entry_, readiness_,
                 options.limits, options.limits.connections_max / 2, options.protocol, metrics),
        acceptor_(exchange::listen(
            context_, {options.bind, options.port, asio::socket_base::max_listen_connections, false,
                       "--http-port", "--http-bind"})) {
    ENSURE(options.protocol.keys == (authenticator != nullptr));
    show_server(metrics, info);
    asio::co_spawn(context_, check_subscribers(), asio::detached);
    asio::co_spawn(context_, check_connections(), asio::detached);
    accept(acceptor_);
    if (!options.local.path.empty()) {
      const int waiting_max = asio::socket_base::max_listen_connections;
      local_.emplace(context_.get_executor(), options.local, waiting_max, "--http-listen");
      accept(local_->acceptor);
    }
    thread_ = start_thread("http", on_fatal_, [this] { run(context_); });
    answering_ = start_thread(
        "http-answers", on_fatal_, [this] { run(answers_); }, Priority::low);
  }
  ~State() {
    replayer_.stop();
    answers_.stop();
    context_.stop();
    answering_.join();
    thread_.join();
    handshakes_.close();
    routes_.turns.close();
    accounts_.close();
    channel_.forget_all();  // connections must end before their context
  }
  std::uint16_t port() const { return port_of(acceptor_); }
  void show(MarketView view, std::shared_ptr<const Health> standby) {
    asio::post(answers_, [this, view = std::make_shared<MarketView>(std::move(view)),
                          standby = std::move(standby)] {
      view_.emplace(std::move(*view));
      if (standby) readiness_.become(Readiness::Role::standby, standby, monotonic_ns());
    });
    feed_.follow([this] { asio::post(answers_, [this] { apply(); }); });
  }
  void attach(Core& core, Readiness::Silence silence) {
    on_thread_of(context_, [&] { entry_.attach(core, core.health()); });
    on_thread_of(answers_, [&] {
      core_client_.attach(core, core.health());
      readiness_.become(Readiness::Role::active, core.health(), monotonic_ns(), std::move(silence));
    });
  }
  void stop() {
    readiness_.become(Readiness::Role::stopping, std::make_shared<Health>(), monotonic_ns());
    asio::post(context_, [this] {
      channel_.close(beast::websocket::close_reason(beast::websocket::close_code::going_away,
                                                    "the server is stopping"),
                     true);
    });
    replayer_.stop();
    entry_.close();
    core_client_.close();
    feed_.end();
  }

 private:
  // Runs `work` on the thread of the context, and returns once it is done.
  static void on_thread_of(asio::io_context& context, std::function<void()> work) {
    std::promise<void> done;
    asio::post(context, [&] {
      work();
      done.set_value();
    });
    done.get_future().wait();
  }
  static void run(asio::io_context& context) {
    while (!context.stopped()) {
      try {
        context.run();
      } catch (const std::exception& error) {  // of one connection; the others continue
        log_error("HTTP: {}", error.what());
      }
    }
  }

  // Updates the view with the rows projected since the last call. answer() also calls it before
  // each response, so that many readers cannot delay the view, and thereby the projector.
  void apply() try {
    if (!view_) return;
    // The events of a batch come before its projected rows.
    std::vector<MarketFeed::Projected> unread = feed_.take();
    accounts_.take(feed_.take_events());
    if (unread.empty()) return;
    // Requests over HTTP wait at most four times this long, so that the XML port need not wait.
    const Bursts::Work work(bursts_, std::chrono::milliseconds(10));
    for (const MarketFeed::Projected& projected : unread) {
      channel_.publish(view_->apply(projected.rows, projected.batch));
      accounts_.publish(projected.rows);
    }
    routes_.changes.publish();
  } catch (const std::exception& error) {  // no memory: the view is wrong from here on
    log_critical("market data over HTTP ends until a restart: {}", error.what());
    view_lost_ = true;
    feed_.end();
    asio::post(context_, [this] {
      channel_.close(beast::websocket::close_reason(beast::websocket::close_code::internal_error,
                                                    "market data ended for lack of memory"),
                     true);
    });
  }

  // Closes the subscribers if this server may have been replaced: they would wait for updates that
  // never come. Also ends the subscriptions of accounts whose key has changed.
  asio::awaitable<void> check_subscribers() {
    asio::steady_timer timer(context_);
    while (true) {
      timer.expires_after(std::chrono::seconds(1));
      co_await timer.async_wait(use_tuple);
      const bool stale = !readiness_.stale(monotonic_ns()).empty();
      if (stale && readiness_.role() != Readiness::Role::stopping)  // stop() closes them
        channel_.close(beast::websocket::close_reason(beast::websocket::close_code::try_again_later,
                                                      "this server may have been replaced"),
                       false);
      asio::post(answers_, [this] { accounts_.check_keys(); });
    }
  }

  void accept(StreamAcceptor& acceptor) {
    start_accepting(
        context_.get_executor(), acceptor, std::chrono::milliseconds(100),
        [this](StreamSocket socket) { start_connection(std::move(socket)); },
        [](const boost::system::error_code&) {});
  }
  void start_connection(StreamSocket socket) {
    AddressQuota::Share share = connections_.take(peer_address(socket.native_handle()));
    if (!share) {
      Metrics::add(metrics_.http_refused[HttpLimit::peer]);
      return;  // closes the socket
    }
    asio::co_spawn(context_, serve(std::move(socket), std::move(share)),
                   [](const std::exception_ptr& problem) {  // to run(), which logs it
                     if (problem) std::rethrow_exception(problem);
                   });
  }

  // The time limit of what a client has to do next. check_connections() closes the connection after
  // it: a timer for each operation would take a tenth of the time of a request.
  class TimeLimit {
   public:
    TimeLimit(std::set<TimeLimit*>& all, AnyStream& stream) : all_(all), stream_(stream) {
      all_.insert(this);
    }
    TimeLimit(const TimeLimit&) = delete;
    ~TimeLimit() { all_.erase(this); }
    void begin(std::chrono::milliseconds time) { end_ = Clock::now() + time; }
    void clear() { end_ = Clock::time_point::max(); }
    void check() {
      if (Clock::now() < end_) return;
      clear();
      stream_.close();
    }

   private:
    using Clock = std::chrono::steady_clock;
    std::set<TimeLimit*>& all_;
    AnyStream& stream_;
    Clock::time_point end_ = Clock::time_point::max();
  };

  asio::awaitable<void> check_connections() {
    asio::steady_timer timer(context_);
    while (true) {
      timer.expires_after(std::chrono::milliseconds(100));
      co_await timer.async_wait(use_tuple);
      for (TimeLimit* const limit : time_limits_) limit->check();
    }
  }

  asio::awaitable<void> serve(StreamSocket socket, AddressQuota::Share connection) {
    const PeerAddress& peer = connection.address();
    const bool secure = certificate_ != nullptr && !is_user(peer);
    const auto context = secure ? certificate_->admit(Certificate::Port::http, peer) : nullptr;
    if (secure && context == nullptr) co_return;  // closes the socket
    AnyStream stream(std::move(socket), context.get());
    TimeLimit time(time_limits_, stream);
    if (stream.is_secure() && !co_await tls_handshake(stream, peer, time)) co_return;
    Logins logins;
    const Peer with_logins{peer, stream.socket().native_handle(), &logins};
    beast::flat_buffer buffer(read_bytes_max);
    for (bool keep_alive = true; keep_alive;) {
      time.begin(std::chrono::milliseconds(limits_.idle_ms));
      http::request_parser<http::string_body> parser;
      parser.header_limit(std::uint32_t(read_bytes_max));  // check_request_head() has the limit
      parser.body_limit(boost::none);                      // until the header names the path
      MemoryBudget::Share held(memory_, peer);             // the body, then the response
      auto [ended, response] = co_await read(stream, buffer, parser, held);
      if (ended) break;
      Metrics::add(metrics_.http_requests);
      const bool upgrade = !response && HttpRoutes::is_websocket(parser.get()) &&
                           beast::websocket::is_upgrade(parser.get());
      if (upgrade) {
        AddressQuota::Share room = channel_.take_room(peer);
        response = refuse_subscriber(parser.get(), room);
        time.clear();
        if (!response)
          co_return co_await channel_.serve(std::move(stream), parser.release(),
                                            std::string(text_of(buffer)), std::move(room));
      }
      const bool is_head = parser.get().method() == http::verb::head;
      keep_alive = !response && parser.keep_alive();
      if (!response) response = routes_.refuse_content(parser.get());
      if (!response) response = routes_.answer_at_once(parser.get());
      if (!response) {
        time.clear();       // the core may have to wait for its store
        HttpHeader header;  // of the response if there is no memory for another one
        header.version(parser.get().version());
        header.method_string(parser.get().method_string());
        header.target(parser.get().target());
        if (routes_.executes_at_once(parser.get()))
          response = co_await routes_.execute_at_once(parser.release(), with_logins);
        else
          response = co_await asio::co_spawn(answers_, answer(parser.release(), with_logins),
                                             asio::use_awaitable);
        if (!held.reserve(response->body().size())) {
          response = too_much(header);
          if (HttpRoutes::executes(header)) break;  // it was executed: an error would deny that
        }
        time.begin(std::chrono::milliseconds(limits_.idle_ms));
      }
      response->keep_alive(keep_alive);
      response->set(http::field::date, date_.now());
      if (stream.is_secure()) response->set(http::field::strict_transport_security, hsts);
      // A 304 response has no length, because it would have to be that of the content (RFC 9110
      // 8.6).
      if (response->result() != http::status::not_modified)
        response->content_length(response->body().size());
      if (is_head) response->body().clear();
      if (co_await send(stream, *response)) break;
      // Behind the other connections that are ready: by then the next request may have arrived, and
      // the read succeeds at once.
      if (buffer.size() == 0) co_await asio::post(context_, asio::use_awaitable);
    }
    co_await linger(stream, time);
  }

  // Waits for the client's first bytes, and then for a turn, so that the clients of one address do
  // not occupy this thread while clients of other addresses wait.
  asio::awaitable<bool> tls_handshake(AnyStream& stream, PeerAddress peer, TimeLimit& time) {
    const bool readable =
        co_await is_readable(stream.socket(), std::chrono::milliseconds(limits_.idle_ms));
    if (!readable) co_return false;
    const AddressTurns::Turn turn = co_await handshakes_.take(peer);
    time.begin(std::chrono::milliseconds(limits_.tls_handshake_ms));
    const auto [error] = co_await stream.async_handshake(AnyStream::Side::server, use_tuple);
    certificate_->charge(Certificate::Port::http, peer, stream.native_tls());
    if (error) Metrics::add(metrics_.tls_failures);
    co_return !error;
  }

  // Returns whether any byte arrives within `time`.
  static asio::awaitable<bool> is_readable(StreamSocket& socket, std::chrono::milliseconds time) {
    asio::steady_timer timer(socket.get_executor(), time);
    const auto is_waiting = std::make_shared<bool>(true);
    timer.async_wait([&socket, is_waiting](const boost::system::error_code& canceled) {
      boost::system::error_code ignored;
      if (!canceled && *is_waiting) socket.cancel(ignored);
    });
    const auto [error] = co_await socket.async_wait(asio::socket_base::wait_read, use_tuple);
    *is_waiting = false;
    co_return !error;
  }

  // Returns nothing if the client may subscribe.
  std::optional<HttpResponse> refuse_subscriber(const HttpHeader& header,
                                                const AddressQuota::Share& room) {
    if (!has_websocket_key(header))
      return http_error(header, http::status::bad_request,
                        "Sec-WebSocket-Key must be there once, the base64 of 16 bytes");
    std::string sentence = readiness_.stale(monotonic_ns());
    if (view_lost_) sentence = "market data ended for lack of memory; restart the server";
    if (sentence.empty() && !room)
      sentence = room.refusal() == AddressQuota::Refusal::address
                     ? "there are too many subscribers of your address"
                     : "there are too many subscribers";
    if (sentence.empty()) return {};
    return http_error(header, http::status::service_unavailable, sentence);
  }

  // Discards the bytes that the client still sends: closing with unread bytes would reset the
  // connection, and the last response would be lost.
  static asio::awaitable<void> linger(AnyStream& stream, TimeLimit& time) {
    boost::system::error_code error;
    time.begin(std::chrono::seconds(1));
    if (stream.is_secure()) co_await stream.async_shutdown(use_tuple);
    stream.socket().shutdown(asio::socket_base::shutdown_send, error);
    time.begin(std::chrono::seconds(1));
    for (char discarded[4096]; !error;) {
      const auto [read_error, bytes] =
          co_await stream.async_read_raw(asio::buffer(discarded), use_tuple);
      error = read_error;
    }
  }

  struct Reading {
    bool ended = false;
    std::optional<HttpResponse> refusal;
  };
  asio::awaitable<Reading> read(AnyStream& stream, beast::flat_buffer& buffer,
                                http::request_parser<http::string_body>& parser,
                                MemoryBudget::Share& held) {
    auto& header = parser.get().base();
    if (auto [ended, refusal] = co_await read_head(stream, buffer); ended || refusal)
      co_return Reading{ended, std::move(refusal)};
    // Beast's own reads of what has arrived already would each be a turn of the event loop.
    beast::error_code error;
    const auto parse = [&](bool with_body) {
      parser.eager(with_body);
      buffer.consume(parser.put(buffer.data(), error));
    };
    parse(false);
    std::size_t body_bytes_max = 0;
    if (!error) {
      split_absolute_target(header);
      decode_target(header);
      if (auto refusal = routes_.refuse(header)) co_return Reading{false, std::move(refusal)};
      body_bytes_max = routes_.body_bytes_max(header);
      if (parser.content_length().value_or(0) > body_bytes_max) {
        error = http::error::body_limit;
      } else {
        parser.body_limit(body_bytes_max);
        auto refuse_extension = [](std::uint64_t, auto extension, beast::error_code& problem) {
          if (!extension.empty()) problem = http::error::bad_chunk_extension;
        };
        parser.on_chunk_header(refuse_extension);
        const auto fields = std::distance(header.begin(), header.end());
        if (header.version() >= 11 && beast::iequals(header[http::field::expect], "100-continue"))
          co_await send_continue(stream);
        if (!parser.is_done() && buffer.size() > 0) parse(true);
        if (error == http::error::need_more) error = {};
        while (!error) {  // counts the bytes received, not those announced
          if (!held.reserve(parser.get().body().size() * body_cost))
            co_return Reading{false, too_much(header)};
          if (parser.is_done()) break;
          const auto [body_error, body_bytes] =
              co_await http::async_read_some(stream, buffer, parser, use_tuple);
          error = body_error;
        }
        // Beast adds the fields of a trailer to those of the header (RFC 9110 6.5.1).
        if (!error && std::distance(header.begin(), header.end()) != fields)
          co_return Reading{false, http_error(header, http::status::bad_request,
                                              "fields behind the body are refused")};
        if (!error) co_return Reading{};
      }
    }
    const auto problem = explain(error, body_bytes_max);
    if (!problem) co_return Reading{.ended = true};
    co_return Reading{false, http_error(header, problem->first, problem->second)};
  }

  // Reads until the buffer begins with the whole head of a request, and checks it.
  asio::awaitable<Reading> read_head(AnyStream& stream, beast::flat_buffer& buffer) {
    while (true) {
      const RequestHead head = check_request_head(text_of(buffer), limits_.header_bytes_max);
      if (head.status != 0)
        co_return Reading{false, refusal_of(head, text_of(buffer).substr(head.skipped))};
      buffer.consume(head.skipped);
      if (head.complete) co_return Reading{};
      const auto [error, bytes] = co_await stream.async_read_some(
          buffer.prepare(beast::read_size(buffer, read_bytes_max)), use_tuple);
      if (error) co_return Reading{.ended = true};
      buffer.commit(bytes);
    }
  }

  HttpResponse too_much(const HttpHeader& header) {
    Metrics::add(metrics_.http_refused[HttpLimit::memory]);
    return http_error(header, http::status::service_unavailable,
                      "too much is being read and sent now; nothing was executed");
  }

  static asio::awaitable<void> send_continue(AnyStream& stream) {
    constexpr std::string_view proceed = "HTTP/1.1 100 Continue\r\n\r\n";
    co_await asio::async_write(stream, asio::buffer(proceed), use_tuple);
  }

  // Sends the response in pieces. Between two of them, other connections of this thread can run,
  // and the threads that clients of the XML port wait for. Returns whether it failed.
  static asio::awaitable<bool> send(AnyStream& stream, HttpResponse& response) {
    constexpr std::size_t piece_bytes = 16'384;
    http::response_serializer<http::string_body> serializer(response);
    serializer.limit(piece_bytes);
    while (!serializer.is_done()) {
      const auto [error, bytes] = co_await http::async_write_some(stream, serializer, use_tuple);
      if (error) co_return true;
      if (!serializer.is_done()) yield_cpu();
    }
    co_return false;
  }

  // Thread of answers.
  asio::awaitable<HttpResponse> answer(HttpRequest request, Peer peer) {
    apply();
    if (view_lost_ && HttpRoutes::is_market_data(request))
      co_return http_error(request, http::status::service_unavailable,
                           "market data ended for lack of memory; restart the server");
    co_return co_await routes_.answer(std::move(request), peer);
  }

  // Browsers that used TLS once use only TLS for a year (RFC 6797 6.1).
  static constexpr const char* hsts = "max-age=31536000";
  static constexpr std::size_t body_cost = 8;  // memory per byte: commands and outcomes

  const HttpLimits& limits_;
  Metrics& metrics_;
  Certificate* const certificate_;
  std::optional<MarketView> view_;  // thread of answers; none until show()
  Bursts bursts_;                   // of its updates
  MarketFeed& feed_;
  Readiness readiness_;
  AddressQuota connections_{
      limits_.connections_max,
      per_address_max(limits_.connections_per_address, limits_.connections_max)};
  MemoryBudget memory_{{.bytes_max = limits_.buffered_bytes_max,
                        .uncontested_bytes_max = 0,
                        .bytes_per_address_max = limits_.buffered_bytes_max / 2,
                        .small_bytes_max = 65'536}};  // connections are limited already
  AddressTurns handshakes_{context_, limits_.tls_handshakes_max};
  CoreClient core_client_;  // of the thread of answers
  CoreClient entry_;        // of the thread of connections
  Replayer replayer_;
  HttpRoutes routes_;
  AccountEvents accounts_;
  MarketChannel channel_;
  // The contexts of connections and of answers. Their destructors end the coroutines, which release
  // their shares and turns of the members above.
  // of the thread of connections
  std::set<TimeLimit*> time_limits_;
  HttpDate date_;
  asio::io_context context_{1}, answers_{1};
  StreamAcceptor acceptor_;
  std::optional<LocalListener> local_;
  std::atomic<bool> view_lost_ = false;
  using WorkGuard = asio::executor_work_guard<asio::io_context::executor_type>;
  WorkGuard working_{context_.get_executor()}, answers_working_{answers_.get_executor()};
  const OnFatal on_fatal_;  // empty: run() logs errors and continues
  Thread thread_, answering_;
};

HttpServer::HttpServer(const HttpOptions& options, const ServerInfo& info, MarketFeed& feed,
                       const Store& store, Metrics& metrics, Authenticator* authenticator,
                       Certificate* certificate, CloseDay close_day, Replayer::MakeDays make_days)
    : state_(std::make_unique<State>(options, info, feed, store, metrics, authenticator,
                                     certificate, std::move(close_day), std::move(make_days))) {}
HttpServer::~HttpServer() = default;
std::uint16_t HttpServer::port() const { return state_->port(); }
void HttpServer::show(MarketView view, std::shared_ptr<const Health> standby) {
  state_->show(std::move(view), std::move(standby));
}
void HttpServer::attach(Core& core, Readiness::Silence silence) {
  state_->attach(core, std::move(silence));
}
void HttpServer::stop() { state_->stop(); }

}  // namespace exchange
