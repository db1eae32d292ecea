#pragma once
// Finds which request made which command of the journal. An acknowledged command must be there
// once, and every command must have a request that asked for it. The commands of a request stand
// together and in one batch, without others between them.

#include <set>
#include <string>
#include <vector>

#include "history/inputs.hpp"

namespace exchange::history {

inline constexpr std::size_t no_request = SIZE_MAX;

// A command of the journal, in the order of commits.
struct Commit {
  Command command;
  Timestamp time;
  BatchNumber batch;
  OrderId order = 0;                 // the id that an order got
  Outcome outcome = {};              // by the rules
  std::size_t request = no_request;  // that asked for it
  std::size_t element = 0;
};
std::vector<Commit> commits_of(const std::vector<Batch>& journal);
// "batch 17, command 203 (order 12: PlaceOrder(account 5, symbol SPY, shares 100, limit 99.5))"
std::string describe(const std::vector<Commit>& commits, std::size_t commit);

struct Finding {
  std::string line;  // of the history; empty if it is about the journal alone
  std::string sentence;
};

// The sources of changes of trading: requests alone, or also a server that follows a timetable.
enum class TradingChanges : bool { of_requests, of_timetable };

// Fills in the request of each commit, which has its outcome. Adds a finding for each acknowledged
// command that is missing or there twice, for each that differs from the request, for requests
// whose commands do not stand together, and for commits that no request asked for. Returns the
// elements, by request and number, that got the reply of an earlier sending of the same order with
// the same reference: they do not have a commit of their own.
using Repeats = std::set<std::pair<std::size_t, std::size_t>>;
Repeats match(const std::vector<RecordedRequest>& requests, std::vector<Commit>& commits,
              TradingChanges trading_changes, std::vector<Finding>& findings);

// Returns the name of a reply element, such as "opened".
std::string_view element_name(const std::string& element);
// Returns whether the reply element reports a change.
bool acknowledges_change(const std::string& element);

}  // namespace exchange::history
