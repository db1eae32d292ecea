#include "client/cli/ports.hpp"

#include <openssl/evp.h>

#include <algorithm>
#include <boost/beast/core/buffers_to_string.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/websocket.hpp>
#include <chrono>
#include <cstring>
#include <thread>

#include "client/connection/framing.hpp"
#include "net/any_stream.hpp"

namespace exchange::cli {

namespace beast = boost::beast;
namespace http = beast::http;
namespace websocket = beast::websocket;
using Error = boost::system::error_code;

namespace {

constexpr std::size_t body_bytes_max = 64u << 20, message_bytes_max = 64u << 20;
constexpr std::chrono::milliseconds retry_pause_min{50}, retry_pause_max{1'000};

using client::StopFlag;
using client::Stream;
using client::Unreachable;

std::string advice(const char* option) {
  const bool http_port = std::strcmp(option, "--http") == 0;
  return std::string("\nIs a server running there? ./run.sh or build/bin/server starts one") +
         (http_port ? " (its --http-port must not be off); " : "; ") + option +
         " HOST:PORT names another.";
}

std::string base64(std::string_view bytes) {
  std::string text((bytes.size() + 2) / 3 * 4, '\0');  // its terminator takes the final zero
  ::EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                    reinterpret_cast<const unsigned char*>(bytes.data()), int(bytes.size()));
  return text;
}

// Returns the header field that logs in; empty without a key.
std::string authorization(const Sender& by) {
  if (by.key.empty()) return {};
  const std::string credentials =
      by.account.empty() ? "Bearer " + by.key : "Basic " + base64(by.account + ":" + by.key);
  return "Authorization: " + credentials + "\r\n";
}

}  // namespace

Stream connect(const std::string& servers, const char* option, double timeout_s,
               const StopFlag& stop, const client::Security& security) try {
  client::Servers all(servers);
  client::Descriptor connected =
      client::connect_to(all, std::min(timeout_s, connect_timeout_s), stop);
  return Stream(std::move(connected), all.current().text, timeout_s, stop, security);
} catch (const Unreachable& error) {
  throw Unreachable(error.what() + advice(option));
}

void XmlPort::connect() {
  if (stream_)
    client::reset_on_close(stream_->socket());  // a long script must not run out of ports
  stream_.reset();
  const double attempts = settings_.retry ? 4 : 1;  // leaves time for each attempt
  stream_.emplace(cli::connect(settings_.connect, "--connect", settings_.timeout_s / attempts,
                               stop_, settings_.security));
}

std::string XmlPort::ask(std::string_view document, Kind kind) {
  std::string doubt;  // the error of an attempt that may have been executed
  if (kind == Kind::question && stream_) try {
      return ask_on_connection(document);
    } catch (const client::ConnectionEnded& error) {
      doubt = error.what();
    } catch (const client::NoReply& error) {
      if (!settings_.retry) throw;
      doubt = error.what();
    }
  using Clock = std::chrono::steady_clock;
  const auto give_up =
      Clock::now() + std::chrono::duration<double>(settings_.retry ? settings_.timeout_s : 0);
  for (auto pause = retry_pause_min;; pause = std::min(2 * pause, retry_pause_max)) {
    try {
      connect();
      return ask_on_connection(document);
    } catch (const client::NoReply& error) {
      if (kind != Kind::question || Clock::now() + pause > give_up) throw;
      doubt = error.what();
    } catch (const Unreachable& error) {
      if (kind == Kind::question && Clock::now() + pause <= give_up) {
      } else if (doubt.empty()) {
        throw;
      } else {
        throw client::NoReply(doubt + "; then: " + error.what());
      }
    }
    std::this_thread::sleep_for(pause);
    if (stop_) throw client::Interrupted();
  }
}

std::string XmlPort::ask_on_connection(std::string_view document) try {
  return client::ask(*stream_, document);
} catch (...) {  // a late reply must not be taken for the reply to the next request
  stream_.reset();
  throw;
}

HttpReply ask_http(const Settings& settings, const std::string& target, const Sender& by,
                   double timeout_s, const StopFlag& stop, const std::string& json) {
  const std::string servers = settings.http_address();
  Stream stream = connect(servers, "--http", timeout_s, stop, settings.security);
  std::string request = (json.empty() ? "GET " : "POST ") + target +
                        " HTTP/1.1\r\nHost: " + stream.peer() +
                        "\r\nUser-Agent: exchange-cli\r\nAccept: application/json\r\n"
                        "Connection: close\r\n" +
                        authorization(by);
  if (!json.empty())
    request +=
        "Content-Type: application/json\r\nContent-Length: " + std::to_string(json.size()) + "\r\n";
  request += "\r\n" + json;
  http::response_parser<http::string_body> parser;
  parser.body_limit(body_bytes_max);
  parser.eager(true);
  std::size_t parsed = 0;
  Error error;
  stream.send_and_receive(request, [&](std::string_view bytes) {
    error = {};
    while (parsed < bytes.size() && !parser.is_done() && !error)
      parsed += parser.put(boost::asio::const_buffer(bytes.data() + parsed, bytes.size() - parsed),
                           error);
    if (error == http::error::need_more) error = {};
    return error || parser.is_done();
  });
  if (error)
    throw client::BadReply(stream.peer() + " does not speak HTTP (" + error.message() +
                           "); --http HOST:PORT names the HTTP port, which is not the XML port");
  return {parser.get().result_int(), std::move(parser.get().body())};
}

struct Feed::Socket {
  explicit Socket(AnyStream connected) : stream(std::move(connected)) {}

  websocket::stream<AnyStream, false> stream;  // without compression
  beast::flat_buffer message;
  bool reading = false, done = false;
  Error error;  // of the last read
};

Feed::Feed(const std::string& address, double timeout_s, const client::StopFlag& stop,
           const client::Security& security)
    : timeout_s_(timeout_s),
      stream_(connect(address, "--http", timeout_s, stop, security)),
      socket_(std::make_unique<Socket>(stream_.release())) {
  auto& socket = socket_->stream;
  const auto silence = std::chrono::duration_cast<std::chrono::steady_clock::duration>(
      std::chrono::duration<double>(2 * timeout_s));  // pings after half of this time
  socket.set_option(
      websocket::stream_base::timeout{.handshake_timeout = websocket::stream_base::none(),
                                      .idle_timeout = silence,
                                      .keep_alive_pings = true});
  socket.set_option(websocket::stream_base::decorator([](websocket::request_type& request) {
    request.set(http::field::user_agent, "exchange-cli");
  }));
  socket.read_message_max(message_bytes_max);

  bool done = false;
  Error error;
  socket.async_handshake(address, "/ws", [&](const Error& result) {
    error = result;
    done = true;
  });
  if (!stream_.run_until(done, timeout_s)) stream_.throw_timeout();
  if (error == websocket::condition::handshake_failed ||
      error.category() == http::make_error_code(http::error::end_of_stream).category())
    throw client::BadReply(address + " has no WebSocket at /ws");
  if (error) stream_.throw_ended(error);
}

Feed::~Feed() = default;

void Feed::send(const std::string& text) {
  bool done = false;
  Error error;
  socket_->stream.async_write(boost::asio::buffer(text), [&](const Error& result, std::size_t) {
    error = result;
    done = true;
  });
  if (!stream_.run_until(done, timeout_s_)) lost(beast::error::timeout);
  if (error) lost(error);
}

std::optional<std::string> Feed::next(double wait_s) {
  Socket& socket = *socket_;
  if (!std::exchange(socket.reading, true)) {
    socket.done = false;
    socket.stream.async_read(socket.message, [&socket](const Error& result, std::size_t) {
      socket.error = result;
      socket.done = true;
    });
  }
  if (!stream_.run_until(socket.done, wait_s)) return {};
  socket.reading = false;
  if (socket.error) lost(socket.error);
  if (!socket.stream.got_text()) throw client::BadReply("a WebSocket message that is not text");
  std::string message = beast::buffers_to_string(socket.message.data());
  socket.message.clear();
  return message;
}

void Feed::lost(const Error& error) const {
  if (error == beast::error::timeout)
    throw client::Unreachable("lost the server at " + stream_.peer() + ": timeout");
  if (error == websocket::condition::protocol_violation ||
      error == websocket::error::message_too_big)
    throw client::BadReply("a WebSocket frame that no server sends: " + error.message());
  throw client::Unreachable("the server at " + stream_.peer() + " ended the connection");
}

}  // namespace exchange::cli
