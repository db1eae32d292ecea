#pragma once
// HttpRoutes makes the response to each request: at once on the thread of connections where state
// alone decides it, else on the thread of answers. Owner: HttpServer.

#include <boost/asio/awaitable.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>
#include <optional>

#include "base/address_quota.hpp"
#include "base/bursts.hpp"
#include "http/address_turns.hpp"
#include "http/core_client.hpp"
#include "http/limits.hpp"
#include "http/prometheus.hpp"
#include "http/readiness.hpp"
#include "market_data/market_view.hpp"
#include "net/certificate.hpp"

namespace exchange {

using HttpRequest = boost::beast::http::request<boost::beast::http::string_body>;
using HttpResponse = boost::beast::http::response<boost::beast::http::string_body>;
using HttpHeader = boost::beast::http::request_header<>;

class HttpRoutes {
 public:
  // `context`: of the thread of answers, as `view` and `core` are. No view: the server has none
  // yet. `certificate` null: no TLS.
  HttpRoutes(const HttpOptions& options, const std::optional<MarketView>& view, CoreClient& core,
             Readiness& readiness, const Store& store, Metrics& metrics,
             const Certificate* certificate, boost::asio::io_context& context)
      : limits_(options.limits),
        protocol_(options.protocol),
        view_(view),
        core_(core),
        readiness_(readiness),
        store_(store),
        metrics_(metrics),
        certificate_(certificate),
        context_(context),
        turns_(context, 1) {}

  // The error response to a request whose header is not acceptable; nothing if its body may be
  // read. Any thread.
  std::optional<HttpResponse> refuse(const HttpHeader& header) const;
  std::size_t body_bytes_max(const HttpHeader& header) const;
  // The response to a request that refuse() accepted, if it needs no more than state: health, and
  // the files of the dashboard. It never waits. Any thread.
  std::optional<HttpResponse> answer_at_once(const HttpHeader& header);
  // The response to another request, from `peer`; not for the WebSocket. Work for one address goes
  // on one piece at a time. Thread of answers, as is what follows.
  boost::asio::awaitable<HttpResponse> answer(HttpRequest request, PeerAddress peer);
  AddressTurns& turns() { return turns_; }

  static bool is_websocket(const HttpHeader& header);
  static bool is_market_data(const HttpHeader& header);
  // An error as the path's kind of document: JSON under /api, a <results> document for /api/xml,
  // else text. `code`: for programs; empty: the name of the status.
  static HttpResponse error(const HttpHeader& header, boost::beast::http::status status,
                            std::string_view sentence, std::string_view code = {});

 private:
  static HttpResponse refusal(const HttpHeader& header, boost::beast::http::status status,
                              Reason reason);
  struct Route;
  static const Route* find_route(const HttpHeader& header);

  HttpResponse liveness(const HttpHeader& header);
  HttpResponse readiness(const HttpHeader& header);
  HttpResponse page(const HttpHeader& header);

  using Answer = boost::asio::awaitable<HttpResponse>;
  // The first two are pure; their caller has the turn.
  HttpResponse symbols(const HttpHeader& header) const;
  HttpResponse book_or_trades(const HttpHeader& header) const;
  Answer market_data(HttpRequest& request, PeerAddress peer);
  Answer account(HttpRequest& request, PeerAddress peer);
  Answer order(HttpRequest& request, PeerAddress peer);
  Answer metrics(HttpRequest& request, PeerAddress peer);
  Answer execute(HttpRequest& request, PeerAddress peer);
  // Whether the view has all that the order refers to.
  bool is_known(const std::optional<StoredOrder>& order) const;
  // Why what this server would show may be outdated; empty if it is not.
  boost::asio::awaitable<std::string> stale();
  boost::asio::awaitable<std::optional<bool>> may_see(const HttpHeader& header,
                                                      const AccountId& account, PeerAddress peer);

  const HttpLimits& limits_;
  const ProtocolLimits& protocol_;
  const std::optional<MarketView>& view_;
  CoreClient& core_;
  Readiness& readiness_;
  const Store& store_;
  Metrics& metrics_;
  const Certificate* const certificate_;
  boost::asio::io_context& context_;
  AddressTurns turns_;
  Bursts bursts_;  // of making responses
  AddressQuota order_reads_{limits_.order_reads_max, per_address_max(0, limits_.order_reads_max)};
};

}  // namespace exchange
