#pragma once
// Which peer a connection belongs to.

#include <algorithm>
#include <boost/asio/ip/tcp.hpp>

#include "protocol/credentials.hpp"

namespace exchange {

// Zeros where the socket has no other side any more.
inline Peer peer_of(const boost::asio::ip::tcp::socket& socket) {
  boost::system::error_code error;
  const boost::asio::ip::address address = socket.remote_endpoint(error).address();
  Peer peer{};
  if (error) return peer;
  const bool mapped = address.is_v6() && address.to_v6().is_v4_mapped();
  if (address.is_v4() || mapped) {
    const auto bytes = (mapped ? boost::asio::ip::make_address_v4(boost::asio::ip::v4_mapped, address.to_v6()) : address.to_v4()).to_bytes();
    std::copy(bytes.begin(), bytes.end(), peer.begin());
  } else {
    const auto bytes = address.to_v6().to_bytes();
    std::copy_n(bytes.begin(), peer.size(), peer.begin());
  }
  return peer;
}

}  // namespace exchange
