#pragma once
// Conversation is the whole protocol of one connection, as steps: it returns the next step, a
// driver performs it on the socket, waits, and reports the result. The drivers are the coroutine of
// pool and loop (net/connection.cpp) and the blocking loop of the thread policy
// (net/thread_policy.cpp). A request takes the steps
//   receive -> [check_keys ->] execute -> send_now -> [send ->] receive
// A TLS connection begins with a handshake and ends with shut_down_tls. If the server ends the
// connection, end_output and discard follow. Before the end, a last execute cancels the orders that
// end with the connection.
//   for (Step step = conversation.start(); step != Step::close;) {
//     ... do `step` ...
//     step = conversation.next(error, bytes);
//   }
// An XmlSession reads the requests, and a ClientSession executes them. Conversation keeps the slot
// of the connection in the matching state. Owner: the connection. Thread: one at a time. No
// sockets.

#include <boost/system/error_code.hpp>
#include <functional>
#include <span>
#include <string_view>

#include "gateway/client_session.hpp"
#include "net/connection_table.hpp"
#include "protocol/xml_session.hpp"

namespace exchange {

class Conversation {
 public:
  enum class Step : std::uint8_t {
    handshake,      // of TLS
    receive,        // some bytes into space()
    check_keys,     // check_keys(), until it calls back
    execute,        // submit the submission, until it is completed
    send_now,       // as many bytes of output() as the socket takes without waiting
    send,           // all bytes of output()
    shut_down_tls,  // send close_notify
    end_output,     // send FIN
    discard,        // some bytes of the socket into space()
    close,          // nothing more: destroy the conversation, then close the socket
  };
  using Error = boost::system::error_code;

  // `submission` belongs to this connection; it and the other arguments must outlive the
  // conversation. `authenticator` is null if accounts have no keys.
  Conversation(ConnectionSlot slot, Submission& submission, const ProtocolLimits& limits,
               Metrics& metrics, Authenticator* authenticator, bool secure);

  // Returns the first step.
  Step start();
  // Returns the next step. `error` and `bytes` (received or sent) are the result of the last one.
  Step next(const Error& error, std::size_t bytes);

  const PeerAddress& address() const { return slot_.address(); }
  std::span<char> space() { return session_.read_space(); }
  std::string_view output() { return std::string_view(session_.output()).substr(sent_); }
  // Calls `on_done` from a thread of the authenticator, or before it returns.
  void check_keys(std::function<void()> on_done);

 private:
  Step take_requests();
  Step begin_batch();
  Step received(const Error& error, std::size_t bytes);
  Step do_next(ClientSession::Step step);
  Step reply();
  Step sent_now(const Error& error, std::size_t bytes);
  Step sent();
  Step end();
  Step lost();
  Step tied_orders_canceled();
  Step linger();

  ConnectionSlot slot_;
  XmlSession session_;
  ClientSession client_;
  const ProtocolLimits& limits_;
  Metrics& metrics_;
  const bool secure_;
  bool is_lost_ = false;  // the socket failed: nothing can be sent any more
  std::size_t sent_ = 0;  // of session_.output()
  Step step_ = Step::close;
};

}  // namespace exchange
