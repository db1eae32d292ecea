#pragma once
// The common part of the protocol's tests.

#include <string>
#include <string_view>
#include <vector>

#include "catch.hpp"
#include "support/local.hpp"

namespace exchange {
using namespace testing;

// Returns all replies of a fresh exchange to one client that sends `bytes` in pieces of these
// sizes, repeatedly, and then stops. " [closed]" follows if the session ended before the client
// did.
inline std::string serve_requests(std::string_view bytes,
                                  const std::vector<std::size_t>& slices = {std::size_t(-1)},
                                  const ProtocolLimits& limits = {}) {
  LocalService service;
  LocalClient client(service, limits);
  for (std::size_t at = 0, i = 0; at < bytes.size(); ++i) {
    const std::string_view piece = bytes.substr(at, slices[i % slices.size()]);
    client.send(piece);
    at += piece.size();
  }
  const bool closed = client.closed();
  if (!closed) client.end();
  REQUIRE(client.closed());
  return client.replies() + (closed ? " [closed]" : "");
}

}  // namespace exchange
