#pragma once
// HttpServer answers HTTP on its own two threads (Boost.Beast): dashboard, health, metrics, market
// data and orders as JSON and over WebSocket, and requests as POST /api/xml (docs/http-api.md).
//
// The thread of connections accepts, reads and writes, sends small orders in JSON to the core, and
// answers health checks and requests for files of the dashboard. Each of its tasks takes a fraction
// of a millisecond, except TLS handshakes, of which each address has a few at a time; so no request
// delays a health check. The thread of answers does the rest, one piece of work for each address in
// turn, in bursts and at a low priority. It owns a MarketView that MarketFeed updates, so readers
// cost the core nothing; only requests and reads of the tables pass through CoreClient. Owner:
// Server. Thread: main.

#include <cstdint>
#include <memory>
#include <string>

#include "auth/authenticator.hpp"
#include "core/core.hpp"
#include "days/new_day.hpp"
#include "days/replayer.hpp"
#include "gateway/readiness.hpp"
#include "market_data/market_feed.hpp"
#include "market_data/market_view.hpp"
#include "net/certificate.hpp"
#include "web/limits.hpp"
#include "web/prometheus.hpp"

namespace exchange {

class HttpServer {
 public:
  // Begins to listen, and serves health and the dashboard; refuses all other requests until show().
  // `authenticator` checks keys before the core sees a request; if null, accounts have no keys. If
  // `certificate` is null, the port speaks plain HTTP. If `close_day` is empty, days cannot be
  // closed; if `make_days` is empty, the store keeps no days. The limits of `options`, `feed`,
  // `store`, `metrics`, `authenticator` and `certificate` must outlive the server. Throws
  // std::system_error if it cannot listen.
  HttpServer(const HttpOptions& options, const ServerInfo& info, MarketFeed& feed,
             const Store& store, Metrics& metrics, Authenticator* authenticator = nullptr,
             Certificate* certificate = nullptr, CloseDay close_day = {},
             Replayer::MakeDays make_days = {});
  ~HttpServer();
  std::uint16_t port() const;
  // `view` is the market at the start; the feed brings later changes. `standby` is the health of a
  // standby, which shows market data and executes nothing.
  void show(MarketView view, std::shared_ptr<const Health> standby = nullptr);
  // Call it after show(). From the return on, requests and reads of the tables go to `core`, which
  // must outlive stop(). `silence` reports the silence of the threads of clients, for health
  // checks; the objects that it uses must also outlive stop().
  void attach(Core& core, Readiness::Silence silence = {});
  // Waits until the core has executed the requests that it was sent, and sends no more requests.
  // Health and metrics are still answered.
  void stop();

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace exchange
