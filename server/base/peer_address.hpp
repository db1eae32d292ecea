#pragma once
// PeerAddress is the unit of client quotas for the XML port and HTTP: an IPv4 address, or an IPv6
// network of 64 bits, which a provider assigns to one customer. It is a value; this header includes
// nothing of the project.

#include <boost/asio/ip/tcp.hpp>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace exchange {

struct PeerAddress {
  std::uint64_t network = 0;  // IPv6: the upper half
  std::uint64_t host = 0;     // IPv4: the address; bit 32 marks it as known
  auto operator<=>(const PeerAddress&) const = default;
};

// IPv4 addresses mapped into IPv6 count as IPv4.
inline PeerAddress peer_address(const boost::asio::ip::address& address) {
  namespace ip = boost::asio::ip;
  constexpr std::uint64_t is_v4 = std::uint64_t(1) << 32;
  if (address.is_v4()) return {0, is_v4 | address.to_v4().to_uint()};
  const ip::address_v6 v6 = address.to_v6();
  if (v6.is_v4_mapped()) return {0, is_v4 | ip::make_address_v4(ip::v4_mapped, v6).to_uint()};
  PeerAddress peer;
  const auto bytes = v6.to_bytes();
  for (std::size_t i = 0; i < 8; ++i) peer.network = peer.network << 8 | bytes[i];
  return peer;
}

// Returns the address of a connected socket's peer. Returns PeerAddress{}, which is not the address
// of any peer, if the peer has disconnected.
inline PeerAddress peer_address(const boost::asio::ip::tcp::socket& socket) {
  boost::system::error_code error;
  const auto endpoint = socket.remote_endpoint(error);
  return error ? PeerAddress{} : peer_address(endpoint.address());
}

}  // namespace exchange

template <>
struct std::hash<exchange::PeerAddress> {
  std::size_t operator()(const exchange::PeerAddress& peer) const noexcept {
    return std::hash<std::uint64_t>()(peer.network * 0x9e3779b97f4a7c15u ^ peer.host);
  }
};
