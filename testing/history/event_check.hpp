#pragma once
// Judges recorded streams of account events (docs/account-stream.md): each event of an account must
// be there once, in the order of its numbers, whatever happened to the connection and the server,
// and must match what the rules make of the journal.

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "history/journal_file.hpp"
#include "history/matching.hpp"

namespace exchange::history {

struct StreamEvent {
  std::string line;  // "FILE:LINE", for messages
  std::string account;
  std::uint64_t number;
  std::string json;
};

// Appends the events of a stream. The stream contains messages of /ws as a client got them, one a
// line, over any number of connections. Messages of other kinds are skipped. Throws Unusable,
// naming the line.
void read_events(std::istream& in, const std::string& name, std::vector<StreamEvent>& events);

struct EventVerdict {
  std::vector<Finding> findings;
  std::size_t accounts = 0, events = 0;
};
// The events of one account may begin with any number.
EventVerdict check_events(const std::vector<StreamEvent>& events,
                          const std::vector<Batch>& journal);

}  // namespace exchange::history
