#pragma once
// What check-history reads: histories as `loadgen --history` writes them (docs/load-generator.md,
// "Histories"), which say which client sent which request when, and the reply; streams of account
// events; and the journal.

#include <cstdint>
#include <istream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "journal/journal_record.hpp"
#include "protocol/request.hpp"

namespace exchange::history {

// Reports input that cannot be read or judged: a wrong path, a pruned journal, a damaged record.
struct Unusable : std::runtime_error {
  using runtime_error::runtime_error;
};

struct Batch {
  BatchNumber number;
  JournalRecord record;
};

// Reads the whole journal (--keep-journal) of a store that no server holds, as the order of
// commits. Does not change the store. `store`: as the server's --store, of a kind that is kept.
// Throws Unusable.
std::vector<Batch> read_journal(const std::string& store);

// One element of a request, to which one element of the reply belongs.
struct AskedElement {
  // empty: it breaks the rules for requests, so that the reply must be an error
  std::optional<Command> command;
  RequestElement element;  // with what the reply repeats of it
};

struct RecordedRequest {
  std::string line;         // "FILE:LINE", for messages
  std::int64_t client = 0;  // of a run: its number, and that of the run before it
  std::uint64_t run = 0, connection = 0;
  std::int64_t call = 0;
  std::optional<std::int64_t> answered;  // empty: no reply came
  std::vector<AskedElement> elements;
  std::shared_ptr<const std::string> text;  // which they have views into
  // not empty: an error in the whole request, which gets one <error>
  std::string refusal;
  std::vector<std::string> replies;  // the elements inside <results>, each as it came
};

// Appends the requests of a stream. `runs` counts the runs of all streams so far. Throws Unusable,
// naming the line.
void read_history(std::istream& in, const std::string& name, std::uint64_t& runs,
                  std::vector<RecordedRequest>& requests);

// Reads the elements of a request document; `request.refusal` is the error in the whole request.
void read_request(const std::string& document, RecordedRequest& request);
// Returns the reply element to an element.
std::string reply_to(const AskedElement& element, const Outcome& outcome);
// Reads the elements inside <results>; returns false if the document is not such a reply.
bool read_reply(const std::string& document, std::vector<std::string>& elements);

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

}  // namespace exchange::history
