#pragma once
// HttpRoutes makes the response to each request: at once on the thread of connections where state
// alone decides it, else on the thread of answers. The table of paths is in http_routes.cpp. Owner:
// HttpServer.

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

// An error as the path's kind of document: JSON under /api, a <results> document for /api/xml, else
// text. `code`: for programs; empty: the name of the status.
HttpResponse http_error(const HttpHeader& header, boost::beast::http::status status,
                        std::string_view sentence, std::string_view code = {});

struct HttpRoutes {
  const HttpLimits& limits;
  const ProtocolLimits& protocol;
  const std::optional<MarketView>& view;  // none: the server has none yet
  CoreClient& core;
  Readiness& readiness;
  const Store& store;
  Metrics& metrics;
  const Certificate* const certificate;  // null: no TLS
  boost::asio::io_context& context;      // of the thread of answers, as `view` and `core` are
  AddressTurns turns{context, 1};        // work for one address goes on one piece at a time
  Bursts bursts{};                       // of making responses
  AddressQuota order_reads{limits.order_reads_max, per_address_max(0, limits.order_reads_max)};

  // The error response to a request whose header is not acceptable; nothing if its body may be
  // read. Any thread.
  std::optional<HttpResponse> refuse(const HttpHeader& header) const;
  std::size_t body_bytes_max(const HttpHeader& header) const;
  // The response to a request that refuse() accepted, if it needs no more than state: health, and
  // the files of the dashboard. It never waits. Any thread.
  std::optional<HttpResponse> answer_at_once(const HttpHeader& header);
  // The response to another request, from `peer`. Thread of answers.
  boost::asio::awaitable<HttpResponse> answer(HttpRequest request, PeerAddress peer);

  static bool is_websocket(const HttpHeader& header);
  static bool is_market_data(const HttpHeader& header);
};

}  // namespace exchange
