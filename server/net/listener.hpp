#pragma once
// Socket functions that the thread policies and the HTTP port share.

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/buffer.hpp>
#include <chrono>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "net/limits.hpp"
#include "net/stream.hpp"

namespace exchange {

struct Listening {
  std::string bind;  // IP address
  std::uint16_t port = 0;
  int backlog = 0;               // capped by net.core.somaxconn
  bool one_of_many = false;      // several acceptors share the port: SO_REUSEPORT
  const char* port_option = "";  // name the port and the address in error messages
  const char* bind_option = "";
};
// Binds and listens. Accepted sockets send without delay, and detect a client that disappears
// without closing. Throws std::system_error that names the address.
StreamAcceptor listen(boost::asio::io_context& context, const Listening& listening);
// Returns the settings of the XML port from the options.
Listening listening(const NetOptions& options, std::uint16_t port, bool one_of_many = false);
// Returns the port of an acceptor of TCP.
std::uint16_t port_of(const StreamAcceptor& acceptor);
// Binds without listening. This reserves the port for listen() and keeps other programs off it
// while nothing listens. Replaces port 0 by the port that the kernel chose. Throws like listen().
StreamAcceptor reserve(boost::asio::io_context& context, Listening listening, std::uint16_t& port);

// Listens on a UNIX-domain socket. Replaces a socket that no process listens on. Removes its own at
// the end, unless another server has replaced it.
class LocalListener {
 public:
  // Throws std::system_error or std::runtime_error that name the path and the option.
  LocalListener(boost::asio::any_io_executor executor, const LocalSocket& socket, int backlog,
                const char* option);
  ~LocalListener();
  LocalListener(const LocalListener&) = delete;

  StreamAcceptor acceptor;

 private:
  const std::string path_;
  std::uint64_t device_ = 0, inode_ = 0;
};

// Whether accepting failed for lack of descriptors or memory: it may succeed later.
bool is_fd_exhaustion(const boost::system::error_code& error);

// Accepts on `executor` until the acceptor is closed. Calls `serve` with each socket, or `failed`
// with the error if accepting failed. Pauses for `retry` if descriptors or memory ran out, or if
// one of the two functions throws. If even the pause fails, the process ends: a server that accepts
// nothing must not appear healthy.
void start_accepting(const boost::asio::any_io_executor& executor, StreamAcceptor& acceptor,
                     std::chrono::milliseconds retry, std::function<void(StreamSocket)> serve,
                     std::function<void(const boost::system::error_code&)> failed);

// Sends as many bytes as the socket takes without waiting, even if it is a blocking socket. Returns
// the number of bytes sent; 0 if the socket takes none now.
std::size_t send_now(StreamSocket& socket, std::string_view bytes,
                     boost::system::error_code& error);

inline boost::asio::mutable_buffer as_buffer(std::span<char> space) {
  return {space.data(), space.size()};
}

}  // namespace exchange
