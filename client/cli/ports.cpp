#include "client/cli/ports.hpp"

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/websocket.hpp>
#include <cstring>

#include "client/ask.hpp"
#include "client/cli/answers.hpp"
#include "client/cli/options.hpp"
#include "client/cli/text.hpp"

namespace exchange::cli {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
namespace websocket = beast::websocket;
using asio::ip::tcp;
using loadgen::Descriptor;
using loadgen::NoReply;
using loadgen::StopFlag;
using loadgen::Unreachable;

constexpr auto look_up = std::chrono::milliseconds(50);  // at `stop`
constexpr const char* user_agent = "exchange-cli";

std::chrono::milliseconds milliseconds(double seconds) { return std::chrono::milliseconds(std::int64_t(seconds * 1e3)); }

// Runs what is under way until done() or the time is over; false: the time is over.
template <class Done>
bool run_until(asio::io_context& context, const StopFlag& stop, std::optional<double> wait_s, Done done) {
  const auto end = std::chrono::steady_clock::now() + milliseconds(wait_s.value_or(0));
  while (!done()) {
    if (stop) throw loadgen::Interrupted();
    const auto now = std::chrono::steady_clock::now();
    if (wait_s && now >= end) return false;
    context.restart();
    context.run_one_for(wait_s ? std::min<std::chrono::steady_clock::duration>(end - now, look_up) : look_up);
  }
  return true;
}

tcp::socket socket_from(asio::io_context& context, Descriptor connected) {
  sockaddr_storage own{};
  socklen_t bytes = sizeof own;
  ::getsockname(connected.number(), reinterpret_cast<sockaddr*>(&own), &bytes);
  return {context, own.ss_family == AF_INET6 ? tcp::v6() : tcp::v4(), connected.release()};
}

std::string advice(const char* option) {
  const bool http_port = std::strcmp(option, "--http") == 0;
  return std::string("\nIs a server running there? ./run.sh or build/bin/server starts one") + (http_port ? " (its --http-port must not be off); " : "; ") +
         option + " HOST:PORT names another.";
}

}  // namespace

Descriptor connect_any(const std::string& host_and_port, const char* option, double timeout_s, const StopFlag& stop) {
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

void XmlPort::connect() {
  if (socket_) loadgen::reset_on_close(socket_.number());  // a long script must not run out of ports
  socket_ = connect_any(address_, "--connect", timeout_s_, stop_);
}

std::string XmlPort::ask(std::string_view document, Kind kind) {
  if (kind == Kind::question && socket_) try {
      return ask_on_connection(document);
    } catch (const loadgen::ConnectionEnded&) {
    }
  connect();
  return ask_on_connection(document);
}

std::string XmlPort::ask_on_connection(std::string_view document) try {
  return loadgen::ask(socket_.number(), address_, document, timeout_s_, stop_);
} catch (const loadgen::NotAReply& error) {
  socket_.close();
  throw NotUnderstood(printable(error.what()));
} catch (...) {  // a reply that comes later must not be taken for that to the next request
  socket_.close();
  throw;
}

HttpAnswer http_get(const std::string& address, const std::string& target, double timeout_s, const StopFlag& stop) {
  asio::io_context context;
  beast::tcp_stream stream(socket_from(context, connect_any(address, "--http", timeout_s, stop)));
  http::request<http::empty_body> request{http::verb::get, target, 11};
  request.set(http::field::host, address);
  request.set(http::field::user_agent, user_agent);
  request.set(http::field::accept, "application/json");
  request.keep_alive(false);
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
    http::async_read(stream, buffer, parser, [&](beast::error_code read_error, std::size_t) { ended = read_error; });
  });
  run_until(context, stop, {}, [&] { return ended.has_value(); });
  if (*ended) throw NoReply("no answer from " + address + ": " + (*ended == beast::error::timeout ? "timeout" : ended->message()));
  return {parser.get().result_int(), std::move(parser.get().body())};
}

struct Feed::Stream {
  Stream(std::string peer_, double timeout, const StopFlag& stop_)
      : peer(std::move(peer_)), timeout_s(timeout), stop(stop_), socket(socket_from(context, connect_any(peer, "--http", timeout, stop_))) {
    // Pings find out that a server went away without a word.
    socket.set_option(websocket::stream_base::timeout{milliseconds(timeout_s), milliseconds(timeout_s), true});
    socket.set_option(websocket::stream_base::decorator([](websocket::request_type& request) { request.set(http::field::user_agent, user_agent); }));
    socket.read_message_max(http_body_bytes_max);
    websocket::response_type response;
    std::optional<beast::error_code> ended;
    socket.async_handshake(response, peer, "/ws", [&](beast::error_code error) { ended = error; });
    run_until(context, stop, {}, [&] { return ended.has_value(); });
    if (*ended == websocket::error::upgrade_declined) throw NotUnderstood(peer + " has no WebSocket at /ws");
    check(*ended);
  }

  void check(beast::error_code error) const {
    if (!error) return;
    const bool closed = error == websocket::error::closed || error == asio::error::eof || error == asio::error::connection_reset;
    throw Unreachable(closed ? "the server at " + peer + " ended the connection" : "lost the server at " + peer + ": " + error.message());
  }

  const std::string peer;
  const double timeout_s;
  const StopFlag& stop;
  asio::io_context context;
  websocket::stream<beast::tcp_stream> socket;
  beast::flat_buffer buffer;
  bool reading = false;
  std::optional<beast::error_code> read;
};

Feed::Feed(const std::string& address, double timeout_s, const StopFlag& stop) : stream_(std::make_unique<Stream>(address, timeout_s, stop)) {}
Feed::~Feed() = default;

void Feed::send(const std::string& text) {
  std::optional<beast::error_code> ended;
  stream_->socket.text(true);
  stream_->socket.async_write(asio::buffer(text), [&](beast::error_code error, std::size_t) { ended = error; });
  run_until(stream_->context, stream_->stop, {}, [&] { return ended.has_value(); });
  stream_->check(*ended);
}

std::optional<std::string> Feed::next(double wait_s) {
  Stream& stream = *stream_;
  if (!std::exchange(stream.reading, true))
    stream.socket.async_read(stream.buffer, [&stream](beast::error_code error, std::size_t) { stream.read = error; });
  if (!run_until(stream.context, stream.stop, wait_s, [&] { return stream.read.has_value(); })) return {};
  stream.reading = false;
  stream.check(*std::exchange(stream.read, {}));
  std::string text = beast::buffers_to_string(stream.buffer.data());
  stream.buffer.clear();
  return text;
}

}  // namespace exchange::cli
