#include "http/http_server.hpp"

#include <pthread.h>
#include <spdlog/spdlog.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/websocket/rfc6455.hpp>
#include <ctime>
#include <optional>
#include <thread>

#include "base/address_quota.hpp"
#include "base/bursts.hpp"
#include "http/authority.hpp"
#include "http/http_routes.hpp"
#include "http/market_channel.hpp"
#include "http/request_head.hpp"
#include "net/any_stream.hpp"
#include "net/listener.hpp"
#include "net/memory_budget.hpp"

namespace exchange {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;

namespace {

constexpr auto use_tuple = asio::as_tuple(asio::use_awaitable);

// Of one read; a longer body moves on into the request.
constexpr std::size_t read_bytes_max = 65'536;

std::string_view text_of(const beast::flat_buffer& received) {
  return {static_cast<const char*>(received.data().data()), received.size()};
}

// HTTP begins with the name of a method; a request to the XML port with its length, or with XML.
bool looks_like_xml(std::string_view received) {
  return !received.empty() && (received[0] == '<' || (received[0] >= '0' && received[0] <= '9'));
}

HttpResponse refusal_of(const RequestHead& head, std::string_view received) {
  HttpHeader header;  // Beast does not parse it: the path says how errors are written
  header.version(11);
  header.target({head.target.data(), head.target.size()});
  if (looks_like_xml(received))
    return HttpRoutes::error(
        header, http::status::bad_request,
        "this is the HTTP port: send XML to the server's --port, or as POST /api/xml");
  const bool malformed = head.status == unsigned(http::status::bad_request);
  return HttpRoutes::error(header, http::status(head.status),
                           (malformed ? "not an HTTP request: " : "") + std::string(head.problem));
}

// A target in absolute form goes before Host (RFC 9112 3.2.2).
void split_absolute_target(HttpHeader& header) {
  const std::string target(header.target().data(), header.target().size());
  const auto absolute = parse_absolute(target);
  if (!absolute) return;
  header.set(http::field::host, {absolute->authority.data(), absolute->authority.size()});
  header.target({absolute->target.data(), absolute->target.size()});
}

// RFC 9110 5.6.7.
std::string http_date() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char text[sizeof "Sun, 06 Nov 1994 08:49:37 GMT"];
  std::strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", &utc);
  return text;
}

// A parser's error as a status and a sentence; nothing if the connection just ended.
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
  State(const HttpOptions& options, ServerInfo info, MarketView view, MarketFeed& feed,
        const Store& store, Metrics& metrics, Authenticator* authenticator,
        Certificate* certificate)
      : limits_(options.limits),
        metrics_(metrics),
        certificate_(certificate),
        view_(std::move(view)),
        feed_(feed),
        acceptor_(exchange::listen(
            context_, {options.bind, options.port, asio::socket_base::max_listen_connections, false,
                       "--http-port", "--http-bind"})),
        core_client_(context_, authenticator, options.limits.connections_max / 2),
        routes_(options, std::move(info), view_, core_client_, store, metrics, certificate,
                context_),
        channel_(view_, options.limits, metrics) {
    ENSURE(options.protocol.keys == (authenticator != nullptr));
    feed_.follow([this] { asio::post(context_, [this] { apply(); }); });
    start_accepting(
        context_.get_executor(), acceptor_, std::chrono::milliseconds(100),
        [this](tcp::socket socket) { start_connection(std::move(socket)); },
        [](const boost::system::error_code&) {});
    thread_ = std::thread([this] { run(); });
  }
  ~State() {
    context_.stop();
    thread_.join();
  }
  std::uint16_t port() const { return acceptor_.local_endpoint().port(); }
  void attach(Core& core) {
    // Its health is taken here: the core may have ended once the context comes to it.
    asio::post(context_,
               [this, &core, health = core.health()] { core_client_.attach(core, health); });
  }
  void stop() {
    core_client_.close();
    feed_.end();
    asio::post(context_, [this] { channel_.close(); });
  }

 private:
  void run() {
    pthread_setname_np(pthread_self(), "http");
    while (!context_.stopped()) {
      try {
        context_.run();
      } catch (const std::exception& error) {  // of one connection; the others go on
        spdlog::error("HTTP: {}", error.what());
      }
    }
  }

  // Updates the view with what was projected since. Called before each response too, so that many
  // readers cannot delay the view, and with it the projector.
  void apply() try {
    channel_.begin_turn();
    const std::vector<MarketFeed::Projected> unread = feed_.take();
    if (unread.empty()) return;
    // Requests over HTTP wait four times that long at most, so that those of the XML port need not.
    const Bursts::Work work(bursts_, std::chrono::milliseconds(10));
    for (const MarketFeed::Projected& projected : unread)
      channel_.publish(view_.apply(projected.rows, projected.batch));
  } catch (const std::exception& error) {  // no memory: the view is wrong from here on
    spdlog::critical("market data over HTTP ends until a restart: {}", error.what());
    view_lost_ = true;
    feed_.end();
    channel_.close();
  }

  void start_connection(tcp::socket socket) {
    AddressQuota::Share share = connections_.take(peer_address(socket));
    if (!share) {
      Metrics::add(metrics_.http_refused_peer);
      return;  // closes it
    }
    asio::co_spawn(context_, serve(std::move(socket), std::move(share)),
                   [](const std::exception_ptr& problem) {  // to run(), which logs it
                     if (problem) std::rethrow_exception(problem);
                   });
  }

  asio::awaitable<void> serve(tcp::socket socket, AddressQuota::Share connection) {
    const PeerAddress& peer = connection.address();
    const bool secure = certificate_ != nullptr;
    const auto context = secure ? certificate_->admit(peer) : nullptr;
    if (secure && context == nullptr) co_return;  // closes it
    AnyStream stream(std::move(socket), context.get());
    if (stream.is_secure() && !co_await tls_handshake(stream, peer)) co_return;
    beast::flat_buffer buffer(read_bytes_max);
    for (bool keep_alive = true; keep_alive;) {
      stream.expires_after(std::chrono::milliseconds(limits_.idle_ms));
      http::request_parser<http::string_body> parser;
      parser.header_limit(std::uint32_t(read_bytes_max));  // check_request_head() has the limit
      parser.body_limit(boost::none);                      // until the header says which path it is
      MemoryBudget::Share held(memory_, peer);             // the body, then the response
      auto [ended, response] = co_await read(stream, buffer, parser, held);
      if (ended) break;
      Metrics::add(metrics_.http_requests);
      const bool upgrade = !response && HttpRoutes::is_websocket(parser.get()) &&
                           beast::websocket::is_upgrade(parser.get());
      if (upgrade && (view_lost_ || !channel_.has_room()))
        response = HttpRoutes::error(parser.get(), http::status::service_unavailable,
                                     "there are too many subscribers, or no market data");
      else if (upgrade)
        co_return co_await channel_.serve(std::move(stream), parser.release());
      const bool is_head = parser.get().method() == http::verb::head;
      keep_alive = !response && parser.keep_alive();
      if (!response) {
        stream.expires_never();  // the core may have to wait for its store
        const HttpHeader header = parser.get().base();
        response = co_await answer(parser.release(), peer);
        if (!held.reserve(response->body().size())) {
          response = too_much(header);
          // it was executed: an error would deny that
          if (header.method() == http::verb::post) break;
        }
        stream.expires_after(std::chrono::milliseconds(limits_.idle_ms));
      }
      response->keep_alive(keep_alive);
      response->set(http::field::date, http_date());
      if (stream.is_secure()) response->set(http::field::strict_transport_security, hsts);
      response->content_length(response->body().size());
      if (is_head) response->body().clear();
      const auto [error, bytes] = co_await http::async_write(stream, *response, use_tuple);
      if (error) break;
    }
    co_await linger(stream);
  }

  asio::awaitable<bool> tls_handshake(AnyStream& stream, const PeerAddress& peer) {
    stream.expires_after(std::chrono::milliseconds(limits_.idle_ms));
    const auto [error] = co_await stream.async_handshake(AnyStream::Side::server, use_tuple);
    certificate_->charge(peer, stream.native_tls());
    if (error) Metrics::add(metrics_.tls_failures);
    co_return !error;
  }

  // Closing with unread bytes would reset the connection, and the last response would be lost.
  static asio::awaitable<void> linger(AnyStream& stream) {
    boost::system::error_code error;
    stream.expires_after(std::chrono::seconds(1));
    if (stream.is_secure()) co_await stream.async_shutdown(use_tuple);
    stream.socket().shutdown(tcp::socket::shutdown_send, error);
    stream.expires_after(std::chrono::seconds(1));
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
    auto [error, header_bytes] =
        co_await http::async_read_header(stream, buffer, parser, use_tuple);
    std::size_t body_bytes_max = 0;
    if (!error) {
      split_absolute_target(header);
      if (auto refusal = routes_.refuse(header)) co_return Reading{false, std::move(refusal)};
      body_bytes_max = routes_.body_bytes_max(header);
      if (parser.content_length().value_or(0) > body_bytes_max) {
        error = http::error::body_limit;
      } else {
        parser.body_limit(body_bytes_max);
        if (header.version() >= 11 && beast::iequals(header[http::field::expect], "100-continue"))
          co_await send_continue(stream);
        while (!error && !parser.is_done()) {  // counts the bytes received, not those announced
          const auto [body_error, body_bytes] =
              co_await http::async_read_some(stream, buffer, parser, use_tuple);
          error = body_error;
          if (!held.reserve(parser.get().body().size() * body_cost))
            co_return Reading{false, too_much(header)};
        }
        if (!error) co_return Reading{};
      }
    }
    const auto problem = explain(error, body_bytes_max);
    if (!problem) co_return Reading{.ended = true};
    co_return Reading{false, HttpRoutes::error(header, problem->first, problem->second)};
  }

  // Until the buffer begins with the whole head of a request, which was checked.
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
    Metrics::add(metrics_.http_refused_memory);
    return HttpRoutes::error(header, http::status::service_unavailable,
                             "too much is being read and sent now; nothing was executed");
  }

  static asio::awaitable<void> send_continue(AnyStream& stream) {
    constexpr std::string_view proceed = "HTTP/1.1 100 Continue\r\n\r\n";
    co_await asio::async_write(stream, asio::buffer(proceed), use_tuple);
  }

  asio::awaitable<HttpResponse> answer(HttpRequest request, PeerAddress peer) {
    if (HttpRoutes::is_websocket(request)) {
      HttpResponse response =
          HttpRoutes::error(request, http::status::upgrade_required, "this path is for WebSocket");
      response.set(http::field::upgrade, "websocket");
      response.set(http::field::connection, "Upgrade");
      co_return response;
    }
    apply();
    if (view_lost_ && HttpRoutes::is_market_data(request))
      co_return HttpRoutes::error(request, http::status::service_unavailable,
                                  "market data ended for lack of memory; restart the server");
    co_return co_await routes_.answer(std::move(request), peer);
  }

  // Browsers that came by TLS come by TLS for a year (RFC 6797 6.1).
  static constexpr const char* hsts = "max-age=31536000";
  static constexpr std::size_t body_cost = 8;  // memory per byte: commands and outcomes

  const HttpLimits& limits_;
  Metrics& metrics_;
  Certificate* const certificate_;
  MarketView view_;
  Bursts bursts_;  // of its updates
  MarketFeed& feed_;
  AddressQuota connections_{
      limits_.connections_max,
      per_address_max(limits_.connections_per_address, limits_.connections_max)};
  MemoryBudget memory_{{.bytes_max = limits_.buffered_bytes_max,
                        .uncontested_bytes_max = 0,
                        .bytes_per_address_max = limits_.buffered_bytes_max / 2,
                        .small_bytes_max = 65'536}};  // connections are limited already
  asio::io_context context_{1};  // its destructor ends the coroutines, which release their shares
  tcp::acceptor acceptor_;
  CoreClient core_client_;
  HttpRoutes routes_;
  MarketChannel channel_;
  bool view_lost_ = false;
  asio::executor_work_guard<asio::io_context::executor_type> working_{context_.get_executor()};
  std::thread thread_;
};

HttpServer::HttpServer(const HttpOptions& options, ServerInfo info, MarketView view,
                       MarketFeed& feed, const Store& store, Metrics& metrics,
                       Authenticator* authenticator, Certificate* certificate)
    : state_(std::make_unique<State>(options, std::move(info), std::move(view), feed, store,
                                     metrics, authenticator, certificate)) {}
HttpServer::~HttpServer() = default;
std::uint16_t HttpServer::port() const { return state_->port(); }
void HttpServer::attach(Core& core) { state_->attach(core); }
void HttpServer::stop() { state_->stop(); }

}  // namespace exchange
