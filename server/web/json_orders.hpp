#pragma once
// Handles accounts, symbols, orders and actions of the operator in JSON over HTTP
// (docs/http-api.md): reads a request with its method, path and parameters as a request of
// json_requests.hpp, and makes its response. No state; threads: as noted.

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

// The command of a path, and how the request states its members.
struct CommandPath {
  CommandKind kind;
  std::string_view member = {};  // the member that the last segment gives
  bool has_body = false;
};
// Reads the members of the body, of the path (`order`), and of the parameters `account` and `sym`.
// The account may come from the field Authorization, which has its key. Pure. Any thread.
HttpJsonRequest read_http_json(const HttpRequest& request, const CommandPath& path,
                               const ProtocolLimits& limits);
// Executes the request and makes the response. Thread: that of `core`.
boost::asio::awaitable<HttpResponse> execute_http_json(CoreClient& core, const HttpHeader& header,
                                                       Peer peer, HttpJsonRequest asked);
// Returns the login of `Authorization`: the operator's key (Bearer), or an account that is an
// operator (Basic).
Credential operator_login(const HttpHeader& header);

}  // namespace exchange
