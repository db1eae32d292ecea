#pragma once
// The limits of WebSockets.

#include <cstddef>
#include <cstdint>

#include "gateway/limits.hpp"

namespace exchange {

struct WebSocketLimits : GatewayLimits {
  std::size_t websocket_message_bytes_max = 16'384;  // takes about 0.1 ms to parse
  // a subscriber that does not answer a ping for this long is disconnected
  std::uint32_t websocket_idle_ms = 60'000;
  std::size_t websocket_subscriptions_max = 256;  // symbols and accounts
  std::size_t book_levels_max = 1'000;            // per side of a book or a snapshot
  // levels and trades in an update; a larger change is sent as a snapshot
  std::size_t update_entries_max = 2'000;
  // unsent bytes of one subscriber before it is disconnected
  std::size_t websocket_backlog_bytes_max = 1u << 20;
  // time for subscribers to take their last responses when the server stops
  std::uint32_t drain_ms = 1'500;
};

}  // namespace exchange
