#pragma once
// Is this reply the right one to that request? Pure.

#include <string_view>
#include <vector>

#include "client/connection/results.hpp"
#include "client/loadgen/audit/deviations.hpp"
#include "client/loadgen/workload.hpp"

namespace exchange::loadgen {

struct CheckedElement {
  client::ReplyElement element;
  std::size_t action = 0;    // of the request, that it answers
  bool rejected = false;     // an <error>
  std::uint64_t opened = 0;  // id of the order opened, if any (order_ids.hpp)
};

struct ReplyCheck {
  // Attributes that a reply element does not repeat are a deviation, and an <error> without any
  // refuses what was asked. Otherwise they are a problem: with our server such an error concerns
  // all of the request, or the connection.
  bool lenient = false;
  std::string_view problem;  // not empty: not the right reply, and why
  bool malformed = false;    // … because it is no document of this protocol
  std::vector<CheckedElement> elements;
  Deviations deviations;  // of all replies so far
};

// Fills `check`: one reply element for each action, of its kind, that repeats what the client
// wrote; for a cancel of all, of which a request has one at most, one or more. `client` wrote the
// request.
void check_reply(const Workload& workload, unsigned client, const ScriptedRequest& request,
                 std::string_view document, ReplyCheck& check);

}  // namespace exchange::loadgen
