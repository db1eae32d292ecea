#pragma once
// The common part of the protocol's tests.

#include <algorithm>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "catch.hpp"
#include "support/local.hpp"
#include "unit/protocol/well_formed.hpp"

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

inline std::vector<std::size_t> random_slices(std::mt19937_64& random) {
  const std::size_t longest = std::size_t(1) << random() % 10;
  std::vector<std::size_t> slices(1 + random() % 40);
  std::generate(slices.begin(), slices.end(), [&] { return 1 + random() % longest; });
  return slices;
}

}  // namespace exchange
