#pragma once
// Can these replies have been given by an exchange that commits in the order of its journal? The
// journal is replayed through a model of the rules; each reply to a change is compared at the place
// of its commit, and for each other reply a place is found at which the model gives exactly that
// reply and which real time allows: a request whose reply came before another was sent comes before
// it, as does one that was sent before it on the same connection. The search is complete: if it
// finds no place, there is none (given the order of commits). Pure.

#include <vector>

#include "history/history_file.hpp"
#include "history/journal_file.hpp"
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

}  // namespace exchange::history
