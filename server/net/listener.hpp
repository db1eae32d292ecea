#pragma once
// What the policies share about sockets.

#include <boost/asio/ip/tcp.hpp>
#include <string>

#include "net/connection_registry.hpp"

namespace exchange {

enum class Sharing { exclusive, one_of_many };  // one_of_many: SO_REUSEPORT

// Binds and listens; sockets accepted send without delay, and notice a peer that is gone without a
// word. Throws std::system_error that names the address.
tcp::acceptor listen(boost::asio::io_context& context, const std::string& address,
                     std::uint16_t port, Sharing sharing, int backlog);

// Whether accepting failed for want of descriptors or memory and is worth another try in a while.
bool is_shortage(const boost::system::error_code& error);

}  // namespace exchange
