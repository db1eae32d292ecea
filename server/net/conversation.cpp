#include "net/conversation.hpp"

#include "base/fail_point.hpp"
#include "net/stream.hpp"

namespace exchange {
namespace {

// A batch that needs no more memory than this is not counted.
constexpr std::size_t small_batch_bytes_max = 128 * 1024;

}  // namespace

Conversation::Conversation(ConnectionSlot slot, Submission& submission,
                           const ProtocolLimits& limits, Metrics& metrics,
                           Authenticator* authenticator, bool secure)
    : slot_(std::move(slot)),
      session_(limits),
      client_(submission, authenticator, metrics, {slot_.address(), slot_.descriptor()},
              limits.policy()),
      limits_(limits),
      metrics_(metrics),
      secure_(secure) {}

Conversation::Step Conversation::start() {
  if (secure_) slot_.receiving(0);
  return step_ = secure_ ? Step::handshake : take_requests();
}

Conversation::Step Conversation::next(const Error& error, std::size_t bytes) {
  switch (step_) {
    case Step::handshake:
      slot_.idle();
      if (error) Metrics::add(metrics_.tls_failures);
      return step_ = error ? Step::close : take_requests();
    case Step::receive: return step_ = received(error, bytes);
    case Step::check_keys: return step_ = do_next(client_.keys_checked());
    case Step::execute:
      return step_ = client_.is_disconnecting() ? tied_orders_canceled() : reply();
    case Step::send_now: return step_ = sent_now(error, bytes);
    case Step::send: return step_ = error ? lost() : sent();
    case Step::shut_down_tls: return step_ = linger();
    case Step::end_output: return step_ = Step::discard;
    case Step::discard: return step_ = error ? Step::close : Step::discard;
    case Step::close: break;
  }
  return Step::close;
}

// Executes the requests that are complete, or receives more.
Conversation::Step Conversation::take_requests() {
  if (session_.finished()) return end();
  client_.begin_reading();
  if (session_.take_requests(client_.tie_problem(limits_.tied_orders_max))) return begin_batch();
  if (session_.finished()) return end();
  if (session_.has_partial_request())
    slot_.receiving(session_.memory_bytes(), session_.document_is_complete());
  return Step::receive;
}

Conversation::Step Conversation::received(const Error& error, std::size_t bytes) {
  if (is_end_of_stream(error))
    session_.end_of_stream();
  else if (error)
    return lost();
  else
    session_.received(bytes);
  return take_requests();
}

Conversation::Step Conversation::begin_batch() {
  client_.count_requests(session_.requests(), session_.errors());
  const std::size_t bytes = session_.memory_bytes();
  if (!slot_.executing(bytes > small_batch_bytes_max ? bytes : 0))
    session_.refuse_requests(
        "the server has no memory for so large a request now; nothing of it was executed");
  return do_next(client_.begin_batch(session_.commands(), session_.credentials()));
}

Conversation::Step Conversation::do_next(ClientSession::Step step) {
  switch (step) {
    case ClientSession::Step::check_keys: return Step::check_keys;
    case ClientSession::Step::execute: return Step::execute;
    case ClientSession::Step::reply: break;
  }
  return reply();
}

void Conversation::check_keys(std::function<void()> on_done) {
  client_.check_keys(std::move(on_done));
}

Conversation::Step Conversation::reply() {
  client_.end_batch();
  session_.reply(client_.outcomes(), [this](std::size_t commands, bool ties_orders) {
    client_.note_request(commands, ties_orders);
  });
  client_.forget_outcomes();
  // Release the memory of the batch before its reply is sent: the client may then send a batch of
  // the same size.
  slot_.idle();
  fail_point("reply.before_send");
  sent_ = 0;
  if (!secure_) return Step::send_now;
  // after part of a TLS record is sent, the server can only continue it
  slot_.sending(session_.memory_bytes());
  return Step::send;
}

// Nearly all replies fit the socket's buffer. Only a reply that does not fit waits for the client.
Conversation::Step Conversation::sent_now(const Error& error, std::size_t bytes) {
  if (error) return lost();
  sent_ = bytes;
  if (output().empty()) return sent();
  slot_.sending(session_.memory_bytes());
  return Step::send;
}

Conversation::Step Conversation::sent() {
  fail_point("reply.after_send");
  client_.replied();
  session_.output().clear();
  sent_ = 0;
  slot_.idle();
  return take_requests();
}

Conversation::Step Conversation::end() {
  if (client_.begin_tied_cancels()) {
    slot_.executing(0);
    return Step::execute;
  }
  if (is_lost_) return Step::close;
  if (session_.refused()) Metrics::add(metrics_.bad_frames);
  if (!secure_) return linger();
  slot_.closing();
  return Step::shut_down_tls;  // the client can tell this end of the stream from a forged one
}

Conversation::Step Conversation::lost() {
  session_.connection_lost();
  is_lost_ = true;
  return end();
}

Conversation::Step Conversation::tied_orders_canceled() {
  client_.end_batch();
  client_.forget_outcomes();
  slot_.idle();
  return end();
}

// If the server ends the connection, it discards the bytes that the client still sends: closing
// with unread bytes would reset the connection and discard the last reply.
Conversation::Step Conversation::linger() {
  if (!session_.closed_by_server()) return Step::close;
  slot_.closing();
  return Step::end_output;
}

}  // namespace exchange
