#pragma once
// HTTP for people and operators, on a thread of its own (Boost.Beast): dashboard, health, metrics,
// market data as JSON and over WebSocket, and requests as POST /api/xml. docs/http-api.md says what
// each path answers. Market data comes from a MarketView that this thread owns and that MarketFeed
// brings forward, so that readers take nothing from the core; only requests and single orders pass
// through CoreClient.

#include <cstdint>
#include <memory>
#include <string>

#include "auth/authenticator.hpp"
#include "core/core.hpp"
#include "http/prometheus.hpp"
#include "market_data/market_feed.hpp"
#include "market_data/market_view.hpp"
#include "net/certificate.hpp"
#include "options.hpp"

namespace exchange {

class HttpServer {
 public:
  // Listens and serves at once. `feed` brings what is projected after `view`. All but `view` must
  // outlive it, but the core, which may end after stop(). Throws std::system_error where the
  // address cannot be had. `authenticator`: where accounts have keys, what stands before the core.
  // `certificate`: HTTPS.
  HttpServer(const Options& options, ServerInfo info, MarketView view, MarketFeed& feed, Core& core,
             Metrics& metrics, Authenticator* authenticator = nullptr,
             Certificate* certificate = nullptr);
  ~HttpServer();
  std::uint16_t port() const;
  // Sends nothing more to the core, once what it was sent is executed; health and metrics are still
  // answered.
  void stop();

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace exchange
