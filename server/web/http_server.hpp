#pragma once
// HttpServer answers HTTP on two threads of its own (Boost.Beast): dashboard, health, metrics,
// market data and orders as JSON and over WebSocket, and requests as POST /api/xml
// (docs/http-api.md).
//
// The thread of connections accepts, reads and writes, sends small orders in JSON to the core, and
// answers health and the files of the dashboard. All that it does takes a fraction of a
// millisecond, but for TLS handshakes, of which each address has a few at a time: so no request
// delays a health check. The thread of answers does the rest, one piece of work for each address in
// turn, in bursts and at a low priority. It owns a MarketView that MarketFeed updates, so readers
// cost the core nothing; only requests and single orders pass through CoreClient. Owner: Server.
// Thread: main.

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
  // Listens and serves at once: health and the dashboard; all else is refused until show().
  // `authenticator` checks keys before the core sees a request; null: accounts have no keys.
  // `certificate` null: plain HTTP. `close_day` empty: days are not closed; `make_days` empty: none
  // are kept. The limits of `options`, `feed`, `store`, `metrics`, `authenticator` and
  // `certificate` must outlive the server. Throws std::system_error if it cannot listen.
  HttpServer(const HttpOptions& options, const ServerInfo& info, MarketFeed& feed,
             const Store& store, Metrics& metrics, Authenticator* authenticator = nullptr,
             Certificate* certificate = nullptr, CloseDay close_day = {},
             Replayer::MakeDays make_days = {});
  ~HttpServer();
  std::uint16_t port() const;
  // `view` is the market at the start; the feed brings the changes after it. `standby`: the health
  // of a standby, which shows market data and executes nothing.
  void show(MarketView view, std::shared_ptr<const Health> standby = nullptr);
  // After show(). From the return on requests and single orders go to `core`, which must outlive
  // stop(), as what `silence` asks must. That is of the threads of clients, for health checks.
  void attach(Core& core, Readiness::Silence silence = {});
  // Waits until the core has executed what it was sent, and sends nothing more. Health and metrics
  // are still answered.
  void stop();

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace exchange
