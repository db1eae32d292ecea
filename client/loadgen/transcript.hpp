#pragma once
// Every request and reply of a run, unchanged, with times of the machine's monotonic clock: the
// content of `--history` (docs/load-generator.md, "Histories"). Each worker fills its own
// transcript in memory, so that file output does not disturb the run: about 70 bytes and the two
// documents for each request. Thread: one at a time.

#include <cstdint>
#include <deque>
#include <iosfwd>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace exchange::loadgen {

// Returns the number of a connection that is opened now: from 1, unique in the process. Any thread.
std::uint64_t next_connection();

class Transcript {
 public:
  // in place of a client's number, for requests of the generator itself
  static constexpr std::int64_t set_up = -1;

  using Entry = std::size_t;
  // Records a request that is about to be sent, as a document without its length line. Entries of
  // one connection must come in the order of sending.
  Entry asked(std::int64_t client, std::uint64_t connection, std::int64_t call_ns,
              std::string_view document);
  // Records the reply. An entry that is never answered remains open.
  void answered(Entry entry, std::int64_t return_ns, std::string_view document);

  // Appends the entries of the other transcript.
  void add(Transcript&& other);
  std::size_t size() const { return requests_.size(); }
  // Writes JSON lines: a header, then one line for each request, in the order of sending.
  // `command`: the command line of the run.
  void write(std::ostream& out, const std::vector<std::string>& command);

 private:
  struct Request {
    std::int64_t client;
    std::uint64_t connection;
    std::int64_t call_ns, return_ns;
    std::string_view document, reply;
    bool answered;
  };
  std::string_view keep(std::string_view text);

  static constexpr std::size_t chunk_bytes = 1u << 20;
  std::deque<Request> requests_;
  std::vector<std::unique_ptr<char[]>> chunks_;  // the texts; they never move
  char* free_ = nullptr;                         // free space in the last chunk
  std::size_t free_bytes_ = 0;
};

}  // namespace exchange::loadgen
