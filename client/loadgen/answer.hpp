#pragma once
// Is this reply a right answer to that request? Pure.

#include <string_view>
#include <vector>

#include "client/connection/reply.hpp"
#include "client/loadgen/workload.hpp"

namespace exchange::loadgen {

struct ElementAnswer {
  ReplyElement element;
  bool rejected = false;     // an <error>
  std::uint64_t opened = 0;  // id of the order opened, if any
};

struct Answer {
  std::string_view problem;  // not empty: not a right answer, and why
  bool malformed = false;    // … because it is no document of this protocol
  std::vector<ElementAnswer> elements;
};

// Fills `answer`: one reply element per element, of the kind asked for, that repeats what the
// client wrote. `client` wrote the request.
void check_reply(const Workload& workload, unsigned client, const Request& request,
                 std::string_view document, Answer& answer);

}  // namespace exchange::loadgen
