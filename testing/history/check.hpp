#pragma once
// check() decides whether an exchange that commits in the order of its journal can have given these
// replies. The journal is replayed through a model of the rules. Each reply to a change is compared
// at the place of its commit. For each other reply the search looks for a place at which the model
// gives exactly that reply and which real time allows: a request whose reply came before another
// request was sent comes before it, as does a request that was sent before it on the same
// connection. The search is complete: if it finds no place, no place exists (given the order of
// commits). check_events() judges recorded streams of account events (docs/account-stream.md): each
// event of an account must be there once, in the order of its numbers, whatever happened to the
// connection and the server, and must match what the rules make of the journal. Both are pure.

#include <vector>

#include "history/matching.hpp"

namespace exchange::history {

struct Verdict {
  std::vector<Finding> findings;  // none: all is well
  std::size_t requests = 0, unanswered = 0, unanswered_but_committed = 0;
  std::size_t commits = 0, batches = 0, executions = 0;
  std::size_t compared = 0;  // reply elements
  std::size_t placed = 0;    // requests that changed nothing, for which a place was found
  // refusals for the length of a reply, which is the server's own limit
  std::size_t not_compared = 0;
};

Verdict check(const std::vector<RecordedRequest>& requests, const std::vector<Batch>& journal,
              TradingChanges trading_changes = TradingChanges::of_requests);

struct EventVerdict {
  std::vector<Finding> findings;
  std::size_t accounts = 0, events = 0;
};
// The events of one account may begin with any number.
EventVerdict check_events(const std::vector<StreamEvent>& events,
                          const std::vector<Batch>& journal);

}  // namespace exchange::history
