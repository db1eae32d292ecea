#pragma once
// Every request and reply of a run, word for word, with times of the machine's monotonic clock:
// what `--history` writes (docs/load-generator.md, "Histories"). Each worker fills one of its own
// in memory, so that no file disturbs the run: about 70 bytes and the two documents for each
// request. Thread: one at a time.

#include <cstdint>
#include <deque>
#include <iosfwd>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace exchange::loadgen {

// Of a connection that is opened now: from 1, in all of the process. Any thread.
std::uint64_t next_connection();

class Transcript {
 public:
  // in place of a client's number: what the generator itself asks
  static constexpr std::int64_t set_up = -1;

  using Entry = std::size_t;
  // A request that is about to be sent, as a document without its length line. Entries of one
  // connection come in the order of sending.
  Entry asked(std::int64_t client, std::uint64_t connection, std::int64_t call_ns,
              std::string_view document);
  // Its reply is there. An entry that is never answered stays open.
  void answered(Entry entry, std::int64_t return_ns, std::string_view document);

  // Entries of the other follow these.
  void add(Transcript&& other);
  std::size_t size() const { return requests_.size(); }
  // JSON lines: a header, then one for each request, by the time it was sent.
  // `command`: what made them.
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
  std::vector<std::unique_ptr<char[]>> chunks_;  // of the texts; they never move
  char* free_ = nullptr;                         // in the last chunk
  std::size_t free_bytes_ = 0;
};

}  // namespace exchange::loadgen
