#pragma once
// Checks whether a reply is the right one to its request. Pure.

#include <string_view>
#include <vector>

#include "client/connection/results.hpp"
#include "client/loadgen/audit/deviations.hpp"
#include "client/loadgen/workload.hpp"

namespace exchange::loadgen {

struct CheckedElement {
  client::ReplyElement element;
  std::size_t action = 0;    // of the request: the one that it answers
  bool rejected = false;     // an <error>
  std::uint64_t opened = 0;  // id of the order opened, if any (order_ids.hpp)
};

struct ReplyCheck {
  // true: attributes that a reply element does not repeat are a deviation, and an <error> without
  // any refuses the element. false: they are an error; with our server such an <error> concerns the
  // whole request, or the connection.
  bool lenient = false;
  std::string_view problem;  // not empty: why it is not the right reply
  bool malformed = false;    // … because it is not a document of this protocol
  std::vector<CheckedElement> elements;
  Deviations deviations;  // of all replies so far
};

// Fills `check`. A right reply has one element for each action, of its kind, which repeats what the
// client wrote; for a cancel of all, which a request contains at most once, it has one or more.
// `client` wrote the request.
void check_reply(const Workload& workload, unsigned client, const ScriptedRequest& request,
                 std::string_view document, ReplyCheck& check);

}  // namespace exchange::loadgen
