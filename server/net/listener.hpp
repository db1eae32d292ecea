#pragma once
// What the thread policies and the HTTP port share about sockets.

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "net/limits.hpp"

namespace exchange {

using boost::asio::ip::tcp;

struct Listening {
  std::string bind;  // IP address
  std::uint16_t port = 0;
  int backlog = 0;               // capped by net.core.somaxconn
  bool one_of_many = false;      // several acceptors share the port: SO_REUSEPORT
  const char* port_option = "";  // name the port and the address in error messages
  const char* bind_option = "";
};
// Binds and listens. Accepted sockets send without delay, and notice a client that has gone without
// closing. Throws std::system_error that names the address.
tcp::acceptor listen(boost::asio::io_context& context, const Listening& listening);
// The XML port, as the options say.
Listening listening(const NetOptions& options, std::uint16_t port, bool one_of_many = false);
// Binds without listening, which leaves the port to listen() and keeps it from other programs while
// nothing listens. 0 becomes the port that it got. Throws as listen() does.
tcp::acceptor reserve(boost::asio::io_context& context, Listening listening, std::uint16_t& port);

// Accepting failed for lack of descriptors or memory and is worth another try in a while.
bool is_fd_exhaustion(const boost::system::error_code& error);

// Accepts on `executor` until the acceptor is closed. Calls `serve` with each socket, and `failed`
// with the error if there is none; pauses for `retry` if descriptors or memory ran out, and if one
// of them throws. If even the pause fails, the process ends: a server that accepts nothing must not
// look as if it were well.
void start_accepting(const boost::asio::any_io_executor& executor, tcp::acceptor& acceptor,
                     std::chrono::milliseconds retry, std::function<void(tcp::socket)> serve,
                     std::function<void(const boost::system::error_code&)> failed);

// Sends as much as goes without waiting, on a socket that blocks too. Returns the bytes sent, 0 if
// none go now.
std::size_t send_now(tcp::socket& socket, std::string_view bytes, boost::system::error_code& error);

inline boost::asio::mutable_buffer as_buffer(std::span<char> space) {
  return {space.data(), space.size()};
}

}  // namespace exchange
