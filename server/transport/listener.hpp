#pragma once
// What the policies share about sockets.

#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <map>
#include <thread>

#include "metrics/guarded.hpp"
#include "metrics/metrics.hpp"
#include "options.hpp"

namespace exchange {

using boost::asio::ip::tcp;

enum class Sharing { exclusive, one_of_many };  // one_of_many: SO_REUSEPORT

// Binds and listens. Throws std::system_error that names the address.
tcp::acceptor listen(boost::asio::io_context& context, const std::string& address, std::uint16_t port, Sharing sharing,
                     int backlog);

// Whether accepting failed for want of descriptors or memory and is worth another try in a while.
bool is_shortage(const boost::system::error_code& error);

// The open connections of one transport: counts them, holds them under a limit, and can end them all, or
// one at a deadline. It does so with shutdown(2) under its lock, whatever thread is inside the socket.
// Any thread.
class ConnectionRegistry {
 public:
  // `secure`: clients speak TLS, and are not told in plain words that there are too many.
  ConnectionRegistry(const TransportLimits& limits, Metrics& metrics, bool secure = false);
  ~ConnectionRegistry();

  // Prepares a socket just accepted and counts it. False where there are too many, or we are stopping:
  // the client has been told and the socket is to be closed.
  bool add(tcp::socket& socket);
  // Before the socket is closed.
  void remove(tcp::socket& socket);
  bool stopping();

  // Where we end a connection first: says that we send no more, and ends it within linger_ms. Until then
  // the caller reads and discards: closing with unread bytes would reset the connection and take our last
  // reply with it.
  void linger(tcp::socket& socket);
  // The same, while the stream above still says goodbye: only the deadline.
  void expect_end(tcp::socket& socket);
  // The client must now send the rest of a request, or take a reply: ends the connection unless
  // keep() comes within stall_ms. Calling it again does not give more time.
  void expect_progress(tcp::socket& socket);
  void keep(tcp::socket& socket);

  // From now on add() refuses, and every connection sees the end of its stream.
  void begin_stop();
  // Waits until there are none: politely for drain_ms, then cutting what still sends or reads.
  void wait_until_empty();

 private:
  using Time = std::chrono::steady_clock::time_point;
  struct Connections {
    std::map<int, Time> deadlines;  // by descriptor
    bool stopping = false;
    bool sweeping = true;
  };
  void set_deadline(tcp::socket& socket, Time deadline);
  void shut_down_all(int how);
  void sweep();

  const TransportLimits& limits_;
  Metrics& metrics_;
  const bool secure_;
  Guarded<Connections> connections_;
  std::thread sweeper_;
};

}  // namespace exchange
