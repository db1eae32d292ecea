#include "client/cli/ports.hpp"

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/core/detail/base64.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/websocket.hpp>
#include <cstring>

#include "client/cli/answers.hpp"
#include "client/cli/options.hpp"
#include "client/cli/text.hpp"
#include "client/connection/ask.hpp"
#include "net/any_stream.hpp"
#include "net/stream.hpp"

namespace exchange::cli {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
namespace websocket = beast::websocket;
namespace ssl = asio::ssl;
using asio::ip::tcp;
using loadgen::Descriptor;
using loadgen::NoReply;
using loadgen::StopFlag;
using loadgen::Unreachable;

constexpr auto look_up = std::chrono::milliseconds(50);  // at `stop`
constexpr const char* user_agent = "exchange-cli";

std::string basic_authorization(const std::string& account, const std::string& key) {
  const std::string plain = account + ":" + key;
  std::string text(beast::detail::base64::encoded_size(plain.size()), '\0');
  text.resize(beast::detail::base64::encode(text.data(), plain.data(), plain.size()));
  return "Basic " + text;
}

std::chrono::milliseconds milliseconds(double seconds) {
  return std::chrono::milliseconds(std::int64_t(seconds * 1e3));
}

// Runs what is under way until done() or the time is over; false: the time is over.
template <class Done>
bool run_until(asio::io_context& context, const StopFlag& stop, std::optional<double> wait_s,
               Done done) {
  const auto end = std::chrono::steady_clock::now() + milliseconds(wait_s.value_or(0));
  while (!done()) {
    if (stop) throw loadgen::Interrupted();
    const auto now = std::chrono::steady_clock::now();
    if (wait_s && now >= end) return false;
    context.restart();
    context.run_one_for(wait_s ? std::min<std::chrono::steady_clock::duration>(end - now, look_up)
                               : look_up);
  }
  return true;
}

tcp::socket socket_from(asio::io_context& context, Descriptor connected) {
  sockaddr_storage own{};
  socklen_t bytes = sizeof own;
  ::getsockname(connected.number(), reinterpret_cast<sockaddr*>(&own), &bytes);
  return {context, own.ss_family == AF_INET6 ? tcp::v6() : tcp::v4(), connected.release()};
}

std::string host_of(const std::string& host_and_port) {
  std::string host = host_and_port.substr(0, host_and_port.rfind(':'));
  if (host.starts_with('[')) host = host.substr(1, host.size() - 2);
  return host;
}

// Null without TLS.
std::unique_ptr<ssl::context> context_of(const Security& security) {
  if (!security.tls) return nullptr;
  auto context = std::make_unique<ssl::context>(ssl::context::tls_client);
  SSL_CTX_set_min_proto_version(context->native_handle(), TLS1_2_VERSION);
  context->set_verify_mode(security.insecure ? ssl::verify_none : ssl::verify_peer);
  beast::error_code error;
  if (security.ca.empty())
    context->set_default_verify_paths(error);
  else
    context->load_verify_file(security.ca, error);
  if (error) throw ListError("--tls-ca " + security.ca + ": " + error.message());
  return context;
}

// Where the stream speaks TLS: knows afterwards that it is `peer` who answers, unless told not to
// look.
void tls_handshake(AnyStream& stream, asio::io_context& context, const std::string& peer,
                   const Security& security, double timeout_s, const StopFlag& stop) {
  if (!stream.is_secure()) return;
  const std::string host = host_of(peer);
  boost::system::error_code is_name;
  asio::ip::make_address(host, is_name);
  if (is_name) SSL_set_tlsext_host_name(stream.native_tls(), host.c_str());
  if (!security.insecure) stream.verify_host(host);
  std::optional<beast::error_code> ended;
  stream.async_handshake(AnyStream::Side::client, [&](beast::error_code error) { ended = error; });
  const auto fail = [&](const std::string& why) {
    throw Unreachable("no TLS with " + peer + ": " + why);
  };
  if (!run_until(context, stop, timeout_s, [&] { return ended.has_value(); })) fail("timeout");
  const bool unproven = *ended && SSL_get_verify_result(stream.native_tls()) != X509_V_OK;
  if (unproven)
    fail(std::string("its certificate is not good: ") +
         X509_verify_cert_error_string(SSL_get_verify_result(stream.native_tls())));
  if (*ended) fail(ended->message());
}

std::string advice(const char* option) {
  const bool http_port = std::strcmp(option, "--http") == 0;
  return std::string("\nIs a server running there? ./run.sh or build/bin/server starts one") +
         (http_port ? " (its --http-port must not be off); " : "; ") + option +
         " HOST:PORT names another.";
}

}  // namespace

Descriptor connect_any(const std::string& host_and_port, const char* option, double timeout_s,
                       const StopFlag& stop) {
  std::string why;
  try {
    for (const loadgen::Address& address : loadgen::resolve_all(host_and_port)) try {
        return loadgen::connect_to(address, std::min(timeout_s, connect_timeout_s), stop);
      } catch (const Unreachable& error) {
        if (why.empty()) why = error.what();
      }
  } catch (const Unreachable& error) {  // no such name
    why = error.what();
  }
  throw Unreachable(why + advice(option));
}

struct XmlPort::Secure {
  explicit Secure(Descriptor connected, ssl::context& tls)
      : stream(socket_from(context, std::move(connected)), &tls) {}

  std::string serve_requests(const XmlPort& port, std::string_view request,
                             const std::function<bool(std::string_view)>& is_complete) {
    const auto step = [&](auto start) {
      std::optional<beast::error_code> ended;
      std::size_t bytes = 0;
      start([&](beast::error_code error, std::size_t count) {
        ended = error;
        bytes = count;
      });
      if (!run_until(context, port.stop_, port.timeout_s_, [&] { return ended.has_value(); }))
        throw NoReply("no reply from " + port.address_ + ": timeout");
      if (*ended)
        throw loadgen::ConnectionEnded(
            "no reply from " + port.address_ + ": " +
            (is_end_of_stream(*ended) ? "it closed the connection" : ended->message()));
      return bytes;
    };
    step([&](auto handler) { asio::async_write(stream, asio::buffer(request), handler); });
    std::string reply;
    char bytes[4096];
    while (!is_complete(reply))
      reply.append(
          bytes, step([&](auto handler) { stream.async_read_some(asio::buffer(bytes), handler); }));
    return reply;
  }

  asio::io_context context;
  AnyStream stream;
};

XmlPort::XmlPort(std::string address, double timeout_s, const StopFlag& stop, Security security)
    : address_(std::move(address)),
      security_(std::move(security)),
      timeout_s_(timeout_s),
      stop_(stop) {}
XmlPort::~XmlPort() = default;

void XmlPort::close() {
  socket_.close();
  secure_.reset();
}

void XmlPort::connect() {
  // a long script must not run out of ports
  if (socket_) loadgen::reset_on_close(socket_.number());
  if (secure_) loadgen::reset_on_close(secure_->stream.socket().native_handle());
  close();
  Descriptor connected = connect_any(address_, "--connect", timeout_s_, stop_);
  const auto tls = context_of(security_);
  if (!tls) {
    socket_ = std::move(connected);
    return;
  }
  auto secure = std::make_unique<Secure>(std::move(connected), *tls);
  tls_handshake(secure->stream, secure->context, address_, security_, timeout_s_, stop_);
  secure_ = std::move(secure);
}

std::string XmlPort::ask(std::string_view document, Kind kind) {
  if (kind == Kind::question && connected()) try {
      return ask_on_connection(document);
    } catch (const loadgen::ConnectionEnded&) {
    }
  connect();
  return ask_on_connection(document);
}

std::string XmlPort::ask_on_connection(std::string_view document) try {
  if (secure_)
    return loadgen::ask(document, [this](std::string_view request, const auto& is_complete) {
      return secure_->serve_requests(*this, request, is_complete);
    });
  return loadgen::ask(socket_.number(), address_, document, timeout_s_, stop_);
} catch (const loadgen::NotAReply& error) {
  close();
  throw NotUnderstood(printable(error.what()));
} catch (...) {  // a reply that comes later must not be taken for that to the next request
  close();
  throw;
}

HttpAnswer http_get(const std::string& address, const std::string& target, double timeout_s,
                    const StopFlag& stop, const Access& access) {
  asio::io_context context;
  const auto tls = context_of(access.security);
  AnyStream stream(socket_from(context, connect_any(address, "--http", timeout_s, stop)),
                   tls.get());
  tls_handshake(stream, context, address, access.security, timeout_s, stop);
  http::request<http::empty_body> request{http::verb::get, target, 11};
  request.set(http::field::host, address);
  request.set(http::field::user_agent, user_agent);
  request.set(http::field::accept, "application/json");
  request.keep_alive(false);
  if (!access.key.empty())
    request.set(http::field::authorization, basic_authorization(access.account, access.key));
  beast::flat_buffer buffer;
  http::response_parser<http::string_body> parser;
  parser.body_limit(http_body_bytes_max);
  std::optional<beast::error_code> ended;
  stream.expires_after(milliseconds(timeout_s));
  http::async_write(stream, request, [&](beast::error_code write_error, std::size_t) {
    if (write_error) {
      ended = write_error;
      return;
    }
    http::async_read(stream, buffer, parser,
                     [&](beast::error_code read_error, std::size_t) { ended = read_error; });
  });
  run_until(context, stop, {}, [&] { return ended.has_value(); });
  if (*ended)
    throw NoReply("no answer from " + address + ": " +
                  (*ended == beast::error::timeout ? "timeout" : ended->message()));
  return {parser.get().result_int(), std::move(parser.get().body())};
}

struct Feed::Connection {
  Connection(std::string peer_, double timeout, const StopFlag& stop_, const Security& security)
      : peer(std::move(peer_)),
        timeout_s(timeout),
        stop(stop_),
        tls(context_of(security)),
        socket(AnyStream(socket_from(context, connect_any(peer, "--http", timeout, stop_)),
                         tls.get())) {
    tls_handshake(socket.next_layer(), context, peer, security, timeout_s, stop);
    // Pings find out that a server went away without a word.
    socket.set_option(
        websocket::stream_base::timeout{milliseconds(timeout_s), milliseconds(timeout_s), true});
    socket.set_option(websocket::stream_base::decorator([](websocket::request_type& request) {
      request.set(http::field::user_agent, user_agent);
    }));
    socket.read_message_max(http_body_bytes_max);
    websocket::response_type response;
    std::optional<beast::error_code> ended;
    socket.async_handshake(response, peer, "/ws", [&](beast::error_code error) { ended = error; });
    run_until(context, stop, {}, [&] { return ended.has_value(); });
    if (*ended == websocket::error::upgrade_declined)
      throw NotUnderstood(peer + " has no WebSocket at /ws");
    check(*ended);
  }

  void check(beast::error_code error) const {
    if (!error) return;
    const bool closed = error == websocket::error::closed || error == asio::error::eof ||
                        error == asio::error::connection_reset;
    throw Unreachable(closed ? "the server at " + peer + " ended the connection"
                             : "lost the server at " + peer + ": " + error.message());
  }

  const std::string peer;
  const double timeout_s;
  const StopFlag& stop;
  asio::io_context context;
  std::unique_ptr<ssl::context> tls;
  websocket::stream<AnyStream, false> socket;  // without compression
  beast::flat_buffer buffer;
  bool reading = false;
  std::optional<beast::error_code> read;
};

Feed::Feed(const std::string& address, double timeout_s, const StopFlag& stop,
           const Security& security)
    : stream_(std::make_unique<Connection>(address, timeout_s, stop, security)) {}
Feed::~Feed() = default;

void Feed::send(const std::string& text) {
  std::optional<beast::error_code> ended;
  stream_->socket.text(true);
  stream_->socket.async_write(asio::buffer(text),
                              [&](beast::error_code error, std::size_t) { ended = error; });
  run_until(stream_->context, stream_->stop, {}, [&] { return ended.has_value(); });
  stream_->check(*ended);
}

std::optional<std::string> Feed::next(double wait_s) {
  Connection& stream = *stream_;
  if (!std::exchange(stream.reading, true))
    stream.socket.async_read(
        stream.buffer, [&stream](beast::error_code error, std::size_t) { stream.read = error; });
  if (!run_until(stream.context, stream.stop, wait_s, [&] { return stream.read.has_value(); }))
    return {};
  stream.reading = false;
  stream.check(*std::exchange(stream.read, {}));
  std::string text = beast::buffers_to_string(stream.buffer.data());
  stream.buffer.clear();
  return text;
}

}  // namespace exchange::cli
