#pragma once
// Which peer a connection belongs to, as far as turns at the authenticator go.

#include "base/peer_address.hpp"
#include "protocol/credentials.hpp"

namespace exchange {

inline Peer peer_of(const PeerAddress& address) {
  return address.network != 0 ? address.network : address.host;
}

}  // namespace exchange
