#pragma once
// The responses about closed days (docs/http-api.md, "Replays of closed days"). Called by
// HttpRoutes. Thread: that of answers.

#include "web/http_routes.hpp"

namespace exchange {

boost::asio::awaitable<HttpResponse> closed_days(HttpRoutes& at, HttpRequest& request, Peer peer);
boost::asio::awaitable<HttpResponse> closed_day(HttpRoutes& at, HttpRequest& request, Peer peer);
boost::asio::awaitable<HttpResponse> moments(HttpRoutes& at, HttpRequest& request, Peer peer);

}  // namespace exchange
