#pragma once
// Replies of the XML port: read into values, and told in sentences. Pure.

#include <map>
#include <stdexcept>

#include "client/cli/command.hpp"
#include "engine/commands.hpp"

namespace exchange::cli {

// The server says what no exchange says.
struct NotUnderstood : std::runtime_error {
  using runtime_error::runtime_error;
};

struct OrderState {
  Shares open, canceled;
  std::int64_t canceled_at_s = 0;
  std::vector<Execution> executions;  // oldest first
  Shares executed;
};

struct Answer {
  std::string element;  // "created", "opened", "status", "canceled" or "error"
  std::string error;    // the sentence of an <error>
  std::string id;       // of the order, where one was opened
  OrderState order;     // of <status> and <canceled>
};

// One for each element asked for. A reply of one <error> to all of the request counts for each.
// Throws NotUnderstood.
std::vector<Answer> read_answers(std::string_view document, std::size_t asked);

// Orders whose terms are known, by id: those placed in this session.
using KnownOrders = std::map<std::string, NewOrder>;

// "order 7: bought 40 SPY @ 145.67, 60 still open at limit 145.67". `terms` may be null.
std::string sentence(const std::string& id, const OrderState& state, const NewOrder* terms);
// A line for each execution, oldest first.
std::string execution_lines(const OrderState& state);

}  // namespace exchange::cli
