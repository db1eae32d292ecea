#include <boost/beast/core/buffers_to_string.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/websocket.hpp>

#include "client/cli/ports.hpp"
#include "net/any_stream.hpp"

namespace exchange::cli {

namespace beast = boost::beast;
namespace http = beast::http;
namespace websocket = beast::websocket;
using Error = boost::system::error_code;

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
      std::chrono::duration<double>(2 * timeout_s));  // a ping after the half of it
  socket.set_option(
      websocket::stream_base::timeout{.handshake_timeout = websocket::stream_base::none(),
                                      .idle_timeout = silence,
                                      .keep_alive_pings = true});
  socket.set_option(websocket::stream_base::decorator([](websocket::request_type& request) {
    request.set(http::field::user_agent, "exchange-cli");
  }));
  socket.read_message_max(http_body_bytes_max);

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
  if (!socket.stream.got_text()) throw client::BadReply("a WebSocket message that is no text");
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
