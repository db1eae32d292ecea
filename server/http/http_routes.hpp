#pragma once
// HttpRoutes makes the response to each request. Owner: HttpServer. Thread: the HTTP thread.

#include <boost/asio/awaitable.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>
#include <optional>

#include "http/core_client.hpp"
#include "http/limits.hpp"
#include "http/prometheus.hpp"
#include "market_data/market_view.hpp"
#include "net/certificate.hpp"

namespace exchange {

using HttpRequest = boost::beast::http::request<boost::beast::http::string_body>;
using HttpResponse = boost::beast::http::response<boost::beast::http::string_body>;
using HttpHeader = boost::beast::http::request_header<>;

class HttpRoutes {
 public:
  // `context` is the thread's. `certificate` null: no TLS.
  HttpRoutes(const HttpOptions& options, ServerInfo info, const MarketView& view, CoreClient& core,
             const Store& store, Metrics& metrics, const Certificate* certificate,
             boost::asio::io_context& context)
      : limits_(options.limits),
        protocol_(options.protocol),
        info_(std::move(info)),
        view_(view),
        core_(core),
        store_(store),
        metrics_(metrics),
        certificate_(certificate),
        context_(context) {}

  // The error response to a request whose header is not acceptable; nothing if its body may be
  // read.
  std::optional<HttpResponse> refuse(const HttpHeader& header) const;
  std::size_t body_bytes_max(const HttpHeader& header) const;
  // The response to a request that refuse() accepted, from `peer`; not for the WebSocket.
  boost::asio::awaitable<HttpResponse> answer(HttpRequest request, PeerAddress peer);

  static bool is_websocket(const HttpHeader& header);
  static bool is_market_data(const HttpHeader& header);
  // An error as the path's kind of document: JSON under /api, a <results> document for /api/xml,
  // else text. `code`: for programs; empty: the name of the status.
  static HttpResponse error(const HttpHeader& header, boost::beast::http::status status,
                            std::string_view sentence, std::string_view code = {});

 private:
  static HttpResponse refusal(const HttpHeader& header, boost::beast::http::status status,
                              Reason reason);
  HttpResponse market_data(const HttpHeader& header) const;
  HttpResponse metrics(const HttpHeader& header) const;
  boost::asio::awaitable<HttpResponse> account(const HttpHeader& header, PeerAddress peer);
  boost::asio::awaitable<HttpResponse> order(const HttpHeader& header, PeerAddress peer);
  boost::asio::awaitable<HttpResponse> readiness(const HttpHeader& header);
  boost::asio::awaitable<HttpResponse> execute(HttpRequest request, PeerAddress peer);
  boost::asio::awaitable<std::optional<bool>> may_see(const HttpHeader& header,
                                                      const AccountId& account, PeerAddress peer);

  const HttpLimits& limits_;
  const ProtocolLimits& protocol_;
  const ServerInfo info_;
  const MarketView& view_;
  CoreClient& core_;
  const Store& store_;
  Metrics& metrics_;
  const Certificate* const certificate_;
  boost::asio::io_context& context_;
};

}  // namespace exchange
