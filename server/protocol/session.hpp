#pragma once
// Session is one client's conversation in XML, without its socket: bytes in, commands out, outcomes
// in, bytes out. It reads requests in batches. A request batch is all requests that are complete in
// the bytes received so far; while one is being executed nothing is read, so that a connection
// never holds more than one batch.
//   while (!session.finished()) {
//     if (session.take_requests()) {
//       ... run session.commands() ...
//       session.reply(outcomes);
//       ... send session.output() ...
//     } else {
//       n = ... receive into session.read_space() ...
//       n > 0 ? session.received(n) : session.end_of_stream();
//     }
//   }
// Owner: the connection. Thread: one at a time. What is wrong in the bytes becomes an <error> in
// the output; nothing is thrown but std::bad_alloc.

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "protocol/framing.hpp"
#include "protocol/request.hpp"

namespace exchange {

class Session {
 public:
  // `limits` must outlive it.
  explicit Session(const ProtocolLimits& limits) : limits_(limits) {}
  explicit Session(ProtocolLimits&&) = delete;

  // Where the next bytes go; never empty. Good until received().
  std::span<char> read_space();
  void received(std::size_t bytes);
  // The client sends no more. What is complete is still answered.
  void end_of_stream() { stream_ended_ = true; }

  // Reads the next batch. True where there is one; it may hold errors only and thus no command.
  // `tie_problem`: why no more orders can end with the connection (E23); null: they can.
  bool take_requests(const char* tie_problem = nullptr);
  // Requests in the batch.
  std::size_t requests() const { return requests_.size(); }
  // What of them is refused without asking the engine: whole documents, and elements.
  std::size_t errors() const;
  // Refuses the whole request batch for lack of memory, unexecuted, with this sentence for each of
  // its requests; reply() comes next.
  void refuse_requests(std::string_view sentence);
  // What the connection keeps in memory now, about; outcomes that are still to come are counted in.
  std::size_t memory_bytes() const;
  // The request batch's commands, for the engine. reply() takes one outcome for each.
  std::vector<Command>& commands() { return commands_; }
  // The keys that came with them; none if accounts have no keys.
  std::vector<Credential>& credentials() { return credentials_; }
  // Ends the request batch: writes the replies of all its requests to output(). Calls
  // `note`, unless it is empty, for each request, in order.
  using Note = std::function<void(std::size_t commands, bool ties_orders)>;
  void reply(std::span<const Outcome> outcomes, const Note& note = {});

  // The connection cannot be read or written any more. What was not executed never will be, and
  // output() is lost.
  void connection_lost();

  // Bytes for the client; empty them with output().clear() once sent.
  std::string& output() { return output_; }
  // Nothing more will come in or out, but for what output() still holds: close.
  bool finished() const { return finished_; }
  // The server ended the stream, the client did not: it may still be sending, and closing at once
  // could take our last reply with it.
  bool closed_by_server() const { return finished_ && !stream_ended_; }
  // Closed for bad framing.
  bool refused() const { return refused_; }
  // A request has begun and is not complete.
  bool has_partial_request() const { return begin_ != end_; }
  // The received bytes form a complete document, but the announced length is larger: if nothing
  // more comes, the length is wrong. Costs little, however small the pieces are in which a large
  // request comes.
  bool document_is_complete();

 private:
  void find_lenient_end(Frame& frame);
  void read_frame(const Frame& frame, const char* tie_problem);
  void close_after_error(std::string_view problem);
  std::string short_frame_problem() const;
  // The received part of the document that is under way; empty if its length is not known yet.
  std::string_view partial_document() const;
  void shrink();

  const ProtocolLimits& limits_;
  std::size_t space() const { return buffer_.empty() ? 0 : buffer_.size() - 1; }

  std::vector<char> buffer_;         // and one byte more, which parsing needs behind a frame
  std::size_t begin_ = 0, end_ = 0;  // bytes received and not consumed yet
  // Of the frame that is under way, when its length is known, or at most.
  std::size_t bytes_wanted_ = 0;
  std::size_t header_ = 0;    // of these, its length line; 0 if there is none
  DocumentEnd document_end_;  // of the document that is under way without one
  bool after_nul_ = false;    // a NUL byte came before it
  // What document_is_complete() has seen of it. What was no document is parsed again only once it
  // is twice as long.
  struct Partial {
    std::size_t seen = 0;    // bytes
    std::size_t failed = 0;  // bytes that were parsed and were no document
    bool complete = false;
  } partial_;
  bool malformed_before_ = false;  // the request before was no well-formed document
  bool codes_ = false;             // the last well-formed one wanted codes (R15)
  bool read_was_full_ = false, read_was_small_ = false;  // the buffer follows the client's bursts
  bool stream_ended_ = false;
  bool finished_ = false;
  bool refused_ = false;

  // The batch.
  std::vector<Request> requests_;
  std::vector<RequestElement> elements_;  // views into buffer_
  std::vector<Command> commands_;
  std::vector<Credential> credentials_;
  std::string output_;
};

}  // namespace exchange
