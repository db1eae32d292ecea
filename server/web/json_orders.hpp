#pragma once
// Accounts, symbols, orders and what the operator does, in JSON over HTTP (docs/http-api.md): a
// request with its method, path and parameters as one of json_requests.hpp, and its response. No
// state; threads: as noted.

#include <boost/asio/awaitable.hpp>
#include <vector>

#include "gateway/core_client.hpp"
#include "json/json_requests.hpp"
#include "web/http_message.hpp"

namespace exchange {

struct HttpJsonRequest {
  JsonRequest request;
  std::vector<Command> commands;
  std::vector<Credential> credentials;  // only if accounts have keys
};

// How a path asks for a command.
struct CommandPath {
  CommandKind kind;
  std::string_view member = {};  // which the last segment is
  bool has_body = false;
};
// The members of the body, of the path (`order`), and of the parameters `account` and `sym`. The
// account may be that of the field Authorization, which has its key. Pure. Any thread.
HttpJsonRequest read_http_json(const HttpRequest& request, const CommandPath& path,
                               const ProtocolLimits& limits);
// Executes it and makes the response. Thread: that of `core`.
boost::asio::awaitable<HttpResponse> execute_http_json(CoreClient& core, const HttpHeader& header,
                                                       Peer peer, HttpJsonRequest asked);
// Of `Authorization`: the operator's key (Bearer), or an account that is an operator (Basic).
Credential operator_login(const HttpHeader& header);
HttpResponse json_response(const HttpHeader& header, const JsonResponse& response);

}  // namespace exchange
