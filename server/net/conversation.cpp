#include "net/conversation.hpp"

#include "base/fail_point.hpp"
#include "net/stream.hpp"

namespace exchange {
namespace {

// A batch that needs no more memory than this is not counted.
constexpr std::size_t small_batch_bytes_max = 128 * 1024;

}  // namespace

Conversation::Conversation(ConnectionLease lease, Submission& submission,
                           const ProtocolLimits& limits, Metrics& metrics,
                           Authenticator* authenticator, bool secure)
    : lease_(std::move(lease)),
      submission_(submission),
      session_(limits),
      metrics_(metrics),
      authenticator_(authenticator),
      secure_(secure) {
  if (authenticator_ != nullptr) keys_.emplace(lease_.address(), lease_.descriptor());
}

Conversation::Step Conversation::start() {
  if (secure_) lease_.receiving(0);
  return step_ = secure_ ? Step::handshake : take_requests();
}

Conversation::Step Conversation::next(const Error& error, std::size_t bytes) {
  switch (step_) {
    case Step::handshake:
      lease_.idle();
      if (error) Metrics::add(metrics_.tls_failures);
      return step_ = error ? Step::close : take_requests();
    case Step::receive: return step_ = received(error, bytes);
    case Step::check_keys: return step_ = keys_checked();
    case Step::execute: return step_ = reply();
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
  submission_.stamps.begin();
  if (session_.take_requests()) return begin_batch();
  if (session_.finished()) return end();
  if (session_.has_partial_request())
    lease_.receiving(session_.memory_bytes(), session_.document_is_complete());
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
  submission_.stamps.end(Stage::parse);
  Metrics::add(metrics_.requests, session_.requests());
  if (const std::size_t errors = session_.errors(); errors > 0)
    Metrics::add(metrics_.client_errors, errors);
  const std::size_t bytes = session_.memory_bytes();
  const bool has_memory = lease_.executing(bytes > small_batch_bytes_max ? bytes : 0);
  if (!has_memory && session_.requests() > 0)
    session_.refuse_requests(
        "the server has no memory for so large a request now; nothing of it was executed");
  submission_.commands = session_.commands();
  executed_ = !session_.commands().empty();
  if (!executed_) return reply();
  if (keys_) {
    keys_->begin_batch(session_.credentials(), session_.commands());
    return authenticator_->is_checked(*keys_) ? keys_checked() : Step::check_keys;
  }
  return Step::execute;
}

void Conversation::check_keys(std::function<void()> on_done) {
  keys_->on_done = std::move(on_done);
  authenticator_->check(*keys_);
}

Conversation::Step Conversation::keys_checked() {
  if (keys_->refused) {
    submission_.refuse(Reason::key_unchecked);
    return reply();
  }
  // Also if nothing is left: a refusal too waits until this server knows that it is the active one,
  // since one that was replaced does not know the keys that its successor gave.
  submission_.commands = keys_->accepted();
  return Step::execute;
}

Conversation::Step Conversation::reply() {
  submission_.stamps.end(Stage::deliver);
  // before the client learns that its accounts exist
  if (keys_ && executed_) authenticator_->complete(*keys_, submission_.outcomes);
  session_.reply(submission_.outcomes);
  submission_.forget_outcomes();
  // The batch's memory is free before its reply is sent: the client may ask for as much again.
  lease_.idle();
  fail_point("reply.before_send");
  sent_ = 0;
  if (!secure_) return Step::send_now;
  // a TLS record that is sent in part can only be continued
  lease_.sending(session_.memory_bytes());
  return Step::send;
}

// Replies nearly always fit the socket's buffer: only one that does not waits for its reader.
Conversation::Step Conversation::sent_now(const Error& error, std::size_t bytes) {
  if (error) return lost();
  sent_ = bytes;
  if (output().empty()) return sent();
  lease_.sending(session_.memory_bytes());
  return Step::send;
}

Conversation::Step Conversation::sent() {
  fail_point("reply.after_send");
  submission_.stamps.end(Stage::write);
  if (executed_ && !submission_.of_disconnect) metrics_.stage_times.record(submission_.stamps);
  session_.output().clear();
  sent_ = 0;
  lease_.idle();
  return take_requests();
}

Conversation::Step Conversation::end() {
  if (session_.take_tied_orders()) return cancel_tied_orders();
  if (session_.refused()) Metrics::add(metrics_.bad_frames);
  if (!secure_) return linger();
  lease_.closing();
  return Step::shut_down_tls;  // the client can tell this end of the stream from a forged one
}

Conversation::Step Conversation::lost() {
  session_.connection_lost();
  return session_.take_tied_orders() ? cancel_tied_orders() : Step::close;
}

Conversation::Step Conversation::cancel_tied_orders() {
  submission_.stamps.begin();
  submission_.of_disconnect = true;
  return begin_batch();
}

// If the server ends the connection, it discards what the client still sends: closing with unread
// bytes would reset the connection and take the last reply with it.
Conversation::Step Conversation::linger() {
  if (!session_.closed_by_server()) return Step::close;
  lease_.closing();
  return Step::end_output;
}

}  // namespace exchange
