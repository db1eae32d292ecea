#pragma once
// Reads requests in JSON as commands (docs/http-api.md), and writes outcomes as JSON, by the
// description of the protocol (protocol/description.hpp). JSON differs from XML in `side` and
// `shares` (XML: amount, whose sign is the side), in `order` (XML: id, or ref), and in lists. Pure.

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

struct JsonReply {
  boost::beast::http::status status;
  Json json;  // an object
};

// One request, whose commands are some of a batch.
struct JsonRequest {
  Problem problem;                   // if set, the request has no commands
  std::optional<AccountId> account;  // the request needs its key; empty: that of the operator
  std::string key;                   // new key for the account of the first command; empty: none
  bool ties_orders = false;          // cancel_on_disconnect
  std::size_t commands = 0;

  // Call it after the execution. Returns the outcomes of the commands, or the problem.
  JsonReply response(std::span<const Outcome> outcomes) const;

  Json named;  // the object that it creates or changes; null: the outcome is the response
  std::vector<std::string> holders;  // the account of each command, if it gives shares to several
  boost::beast::http::status done = boost::beast::http::status::ok;  // if `named` is an object
  std::optional<std::vector<Problem>> problems_of_list;              // one for each order of a list
};

// Reads the members of a request for one or more commands of this kind, and appends the commands.
// `usual` is the account that sends the request, if it is not the operator. `tie_problem` is the
// reason why no orders can end with this connection, or null.
JsonRequest read_json_request(CommandKind kind, const JsonInput& members,
                              const std::optional<AccountId>& usual, const ProtocolLimits& limits,
                              const char* tie_problem, std::vector<Command>& commands);

// The name of an order in a request: "12", or "ref:mine".
struct OrderName {
  OrderId id = 0;  // 0 if there is a reference
  OptionalReference reference;
};
Problem read_order_name(std::string_view text, OrderName& name);

JsonReply problem_response(const Problem& problem);
JsonReply outcome_response(const Outcome& outcome);

}  // namespace exchange
