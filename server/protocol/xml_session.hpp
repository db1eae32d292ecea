#pragma once
// XmlSession is the conversation with one client in XML, without its socket. It turns received
// bytes into commands, and outcomes into bytes to send. It reads requests in batches: a batch is
// all requests that are complete in the bytes received so far. The connection does not read while a
// batch is being executed, so it never holds more than one batch.
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
// Owner: the connection. Thread: one at a time. Errors in the bytes become an <error> in the
// output. Throws nothing but std::bad_alloc.

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "protocol/framing.hpp"
#include "protocol/request.hpp"

namespace exchange {

class XmlSession {
 public:
  // `limits` must outlive it.
  explicit XmlSession(const ProtocolLimits& limits) : limits_(limits) {}
  explicit XmlSession(ProtocolLimits&&) = delete;

  // Returns the space for the next bytes; never empty. Valid until received().
  std::span<char> read_space();
  void received(std::size_t bytes);
  // The client sends no more bytes. The session still answers the complete requests.
  void end_of_stream() { stream_ended_ = true; }

  // Reads the next batch. Returns whether there is one; it may contain only errors and thus no
  // command. `tie_problem` is the reason why no more orders can end with the connection (E23); null
  // if they can.
  bool take_requests(const char* tie_problem = nullptr);
  // The number of requests in the batch.
  std::size_t requests() const { return requests_.size(); }
  // The number of errors that do not come from the engine: refused documents and refused elements.
  std::size_t errors() const;
  // Refuses the whole request batch for lack of memory, with this sentence for each of its
  // requests. No command of it is executed; the caller calls reply() next.
  void refuse_requests(std::string_view sentence);
  // The approximate memory of the session now; it includes the outcomes that are still to come.
  std::size_t memory_bytes() const;
  // The request batch's commands, for the engine. reply() takes one outcome for each.
  std::vector<Command>& commands() { return commands_; }
  // The keys that came with the commands; empty if accounts have no keys.
  std::vector<Credential>& credentials() { return credentials_; }
  // Ends the request batch: writes the replies to all its requests to output(). Calls `note`,
  // unless it is empty, for each request, in order.
  using Note = std::function<void(std::size_t commands, bool ties_orders)>;
  void reply(std::span<const Outcome> outcomes, const Note& note = {});

  // The caller can no longer read or write the connection. The session executes no more requests
  // and discards output().
  void connection_lost();

  // Bytes for the client; the caller calls output().clear() once they are sent.
  std::string& output() { return output_; }
  // The session is over: the caller sends the rest of output() and closes the connection.
  bool finished() const { return finished_; }
  // The server ended the stream and the client did not. The client may still be sending, and an
  // immediate close could discard our last reply.
  bool closed_by_server() const { return finished_ && !stream_ended_; }
  // The session ends because of bad framing.
  bool refused() const { return refused_; }
  // A request has begun and is not complete.
  bool has_partial_request() const { return begin_ != end_; }
  // The received bytes form a complete document, but the announced length is larger. If no more
  // bytes come, the length is wrong. The cost is small even if a large request arrives in small
  // pieces.
  bool document_is_complete();

 private:
  void find_lenient_end(Frame& frame);
  void read_frame(const Frame& frame, const char* tie_problem);
  void close_after_error(std::string_view problem);
  std::string short_frame_problem() const;
  // The received part of the incomplete document; empty if its length is not known yet.
  std::string_view partial_document() const;
  void shrink();

  const ProtocolLimits& limits_;
  std::size_t space() const { return buffer_.empty() ? 0 : buffer_.size() - 1; }

  std::vector<char> buffer_;         // has one byte more, which parsing needs after a frame
  std::size_t begin_ = 0, end_ = 0;  // bytes received and not consumed yet
  // The size of the incomplete frame with its length line; an upper limit if it has no length line;
  // 0 if the size is not known yet.
  std::size_t bytes_wanted_ = 0;
  std::size_t header_ = 0;    // bytes of its length line; 0 if it has none
  DocumentEnd document_end_;  // of the incomplete document without a length line
  bool after_nul_ = false;    // a NUL byte came directly before the frame
  // The progress of document_is_complete(). It parses text that was not a document again only once
  // the text is twice as long.
  struct Partial {
    std::size_t seen = 0;    // bytes
    std::size_t failed = 0;  // bytes that were parsed and were not a document
    bool complete = false;
  } partial_;
  bool malformed_before_ = false;  // the previous request was not well-formed
  bool codes_ = false;             // the last well-formed request asked for codes (R15)
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
