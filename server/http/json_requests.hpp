#pragma once
// Requests in JSON as commands (docs/http-api.md), by the tables of attributes that the elements of
// XML have too (protocol/elements.hpp), and outcomes as JSON. A member has the name of its
// attribute, but for `symbol` (sym), and `side` with `shares` (amount, whose sign is the side).
// Decimals are strings, or whole numbers. Pure.

#include <nlohmann/json.hpp>
#include <string>
#include <variant>
#include <vector>

#include "protocol/credentials.hpp"
#include "protocol/elements.hpp"
#include "protocol/limits.hpp"

namespace exchange {

using Json = nlohmann::ordered_json;

// How a request names an order: "12", or "ref:mine".
struct OrderName {
  OrderId id = 0;  // unless there is a reference
  OptionalReference reference;
};
Problem read_order_name(std::string_view text, OrderName& name);

// Each reads an object. The account is not in it, but for read_account().
Problem read_order(const Json& object, const AccountId& account, const ProtocolLimits& limits,
                   PlaceOrder& order);
// `account` and `name` are those of the request.
Problem read_replacement(const Json& object, const AccountId& account, const OrderName& name,
                         ReplaceOrder& replace);
// {"account", "balance", "key"}; `key` is empty if it has none.
Problem read_account(const Json& object, CreateAccount& create, std::string& key);
// {"symbol", "holdings": {"ACCOUNT": "SHARES"}}: as many commands as <symbol> has.
Problem read_symbol(const Json& object, std::vector<Command>& commands);

// What a command led to: an object that names the order, or {"error", "code"}.
Json outcome_json(const Outcome& outcome);
// With a new line behind it. What is no UTF-8 is replaced.
std::string json_text(const Json& json);
Json error_object(std::string_view sentence, std::string_view code);

}  // namespace exchange
