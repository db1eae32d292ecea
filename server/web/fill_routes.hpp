#pragma once
// The fills of an account (docs/http-api.md, "Fills of an account"). Called by HttpRoutes. Thread:
// that of answers.

#include "web/http_routes.hpp"

namespace exchange {

boost::asio::awaitable<HttpResponse> fills(HttpRoutes& at, HttpRequest& request, Peer peer);

}  // namespace exchange
