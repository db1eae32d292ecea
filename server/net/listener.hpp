#pragma once
// What the policies share about sockets.

#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <span>
#include <string_view>

#include "net/limits.hpp"

namespace exchange {

using boost::asio::ip::tcp;

enum class Sharing { exclusive, one_of_many };  // one_of_many: SO_REUSEPORT

// Binds and listens on options.bind and `port`; accepted sockets send without delay, and notice a
// client that has gone without closing. Throws std::system_error that names the address.
tcp::acceptor listen(boost::asio::io_context& context, const NetOptions& options,
                     std::uint16_t port, Sharing sharing);

// Accepting failed for lack of descriptors or memory and is worth another try in a while.
bool is_fd_exhaustion(const boost::system::error_code& error);

// Sends as much as goes without waiting, on a socket that blocks too. Returns the bytes sent, 0 if
// none go now.
std::size_t send_now(tcp::socket& socket, std::string_view bytes, boost::system::error_code& error);

inline boost::asio::mutable_buffer as_buffer(std::span<char> space) {
  return {space.data(), space.size()};
}

}  // namespace exchange
