#pragma once
// Requests in JSON as commands (docs/http-api.md), and outcomes as JSON, by the description of the
// protocol (protocol/description.hpp). What JSON writes otherwise than XML: `side` beside `shares`
// (amount, whose sign is the side), `order` (id, or ref), and lists. Pure.

#include <boost/beast/http/status.hpp>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "json/json_input.hpp"
#include "protocol/description.hpp"
#include "protocol/limits.hpp"

namespace exchange {

struct JsonResponse {
  boost::beast::http::status status;
  Json json;  // an object
};

// One request, whose commands are some of a batch.
struct JsonRequest {
  Problem problem;                   // then it has no commands
  std::optional<AccountId> account;  // whose key it needs; none: it is the operator's
  std::string key;                   // new, of the account of its first command; empty: none
  bool ties_orders = false;          // cancel_on_disconnect
  std::size_t commands = 0;

  // After execution: the outcomes of its commands, or the problem.
  JsonResponse response(std::span<const Outcome> outcomes) const;

  Json named;  // what it creates or changes: an object; null: the outcome is the response
  std::vector<std::string> holders;  // the account of each command, if it gives shares to several
  boost::beast::http::status done = boost::beast::http::status::ok;  // of an object
  std::optional<std::vector<Problem>> problems_of_list;              // one for each order of a list
};

// Reads the members of a request for a command of this kind, or for several, and appends them.
// `usual`: the account that asks, if it is not the operator. `tie_problem`: why no orders can end
// with this connection, or null.
JsonRequest read_json_request(CommandKind kind, const JsonInput& members,
                              const std::optional<AccountId>& usual, const ProtocolLimits& limits,
                              const char* tie_problem, std::vector<Command>& commands);

// How a request names an order: "12", or "ref:mine".
struct OrderName {
  OrderId id = 0;  // unless there is a reference
  OptionalReference reference;
};
Problem read_order_name(std::string_view text, OrderName& name);

JsonResponse problem_response(const Problem& problem);
JsonResponse outcome_response(const Outcome& outcome);

}  // namespace exchange
