#pragma once
// HttpServer answers HTTP on a thread of its own (Boost.Beast): dashboard, health, metrics, market
// data as JSON and over WebSocket, and requests as POST /api/xml (docs/http-api.md). Market data
// comes from a MarketView that this thread owns and MarketFeed updates, so readers cost the core
// nothing; only requests and single orders pass through CoreClient.
// Owner: main. port() and stop(): main thread.

#include <cstdint>
#include <memory>
#include <string>

#include "auth/authenticator.hpp"
#include "core/core.hpp"
#include "http/limits.hpp"
#include "http/prometheus.hpp"
#include "market_data/market_feed.hpp"
#include "market_data/market_view.hpp"
#include "net/certificate.hpp"

namespace exchange {

class HttpServer {
 public:
  // Listens and serves at once. `view` is the market at the start, `feed` brings the changes after
  // it. Until attach(), the server is a standby: it shows market data and executes nothing.
  // `authenticator` checks keys before the core sees a request; null: accounts have no keys.
  // `certificate` null: plain HTTP. The limits of `options`, `feed`, `store`, `metrics`,
  // `authenticator` and `certificate` must outlive the server. Throws std::system_error if it
  // cannot listen.
  HttpServer(const HttpOptions& options, ServerInfo info, MarketView view, MarketFeed& feed,
             const Store& store, Metrics& metrics, Authenticator* authenticator = nullptr,
             Certificate* certificate = nullptr);
  ~HttpServer();
  std::uint16_t port() const;
  // From now on requests and single orders go to `core`, which must outlive stop().
  void attach(Core& core);
  // Waits until the core has executed what it was sent, and sends nothing more. Health and metrics
  // are still answered.
  void stop();

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace exchange
