#pragma once
// From a request to its response. Thread: the HTTP thread.

#include <boost/asio/awaitable.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>
#include <optional>

#include "http/core_client.hpp"
#include "http/prometheus.hpp"
#include "market_data/market_view.hpp"
#include "options.hpp"

namespace exchange {

using HttpRequest = boost::beast::http::request<boost::beast::http::string_body>;
using HttpResponse = boost::beast::http::response<boost::beast::http::string_body>;
using HttpHeader = boost::beast::http::request_header<>;

class HttpRoutes {
 public:
  // `context` is the thread's.
  HttpRoutes(const Options& options, ServerInfo info, const MarketView& view, CoreClient& door,
             Metrics& metrics, boost::asio::io_context& context)
      : options_(options),
        info_(std::move(info)),
        view_(view),
        door_(door),
        metrics_(metrics),
        context_(context) {}

  // What is wrong with a request before its body is read; nothing where all is well.
  std::optional<HttpResponse> refuse(const HttpHeader& header) const;
  std::size_t body_bytes_max(const HttpHeader& header) const;
  // Of a request that refuse() let pass, from `peer`; not for the WebSocket.
  boost::asio::awaitable<HttpResponse> answer(HttpRequest request, PeerAddress peer);

  static bool is_websocket(const HttpHeader& header);
  static bool is_market_data(const HttpHeader& header);
  // An error as the path's kind of document: JSON under /api, a <results> document for /api/xml,
  // else text.
  static HttpResponse error(const HttpHeader& header, boost::beast::http::status status,
                            std::string_view sentence);

 private:
  HttpResponse market_data(const HttpHeader& header) const;
  boost::asio::awaitable<HttpResponse> account(const HttpHeader& header, PeerAddress peer);
  boost::asio::awaitable<HttpResponse> order(const HttpHeader& header, PeerAddress peer);
  boost::asio::awaitable<HttpResponse> readiness(const HttpHeader& header);
  boost::asio::awaitable<HttpResponse> execute(HttpRequest request, PeerAddress peer);
  boost::asio::awaitable<std::optional<bool>> may_see(const HttpHeader& header,
                                                      const AccountId& account, PeerAddress peer);

  const Options& options_;
  const ServerInfo info_;
  const MarketView& view_;
  CoreClient& door_;
  Metrics& metrics_;
  boost::asio::io_context& context_;
};

}  // namespace exchange
