#pragma once
// Conversation is all that happens on one connection, as steps: it says what is to be done next, a
// driver does it on the socket, waits, and reports. The coroutine of pool and loop
// (net/connection.cpp) and the blocking loop of the thread policy (net/thread_policy.cpp) are
// drivers. A request goes
//   receive -> [check_keys ->] execute -> send_now -> [send ->] receive
// and a connection begins with a handshake (TLS), and ends with shut_down_tls and, if the server
// ends it, with end_output and discard. Before that, orders that end with it are canceled by a last
// execute.
//   for (Step step = conversation.start(); step != Step::close;) {
//     ... do `step` ...
//     step = conversation.next(error, bytes);
//   }
// Requests are those of a Session; they go through a ClientSession. It keeps the connection's lease
// in the state that fits.
// Owner: the connection. Thread: one at a time. No sockets.

#include <boost/system/error_code.hpp>
#include <functional>
#include <span>
#include <string_view>

#include "gateway/client_session.hpp"
#include "net/connection_table.hpp"
#include "protocol/session.hpp"

namespace exchange {

class Conversation {
 public:
  enum class Step : std::uint8_t {
    handshake,      // of TLS
    receive,        // some bytes into space()
    check_keys,     // check_keys(), until it calls back
    execute,        // submit the submission, until it is completed
    send_now,       // as many bytes of output() as go without waiting
    send,           // all bytes of output()
    shut_down_tls,  // send close_notify
    end_output,     // send FIN
    discard,        // some bytes of the socket into space()
    close,          // nothing more: destroy the conversation, then close the socket
  };
  using Error = boost::system::error_code;

  // `submission` is this connection's, and as the other arguments outlives the conversation.
  // `authenticator`: null if accounts have no keys.
  Conversation(ConnectionLease lease, Submission& submission, const ProtocolLimits& limits,
               Metrics& metrics, Authenticator* authenticator, bool secure);

  // The first step.
  Step start();
  // The step after the one that has just ended like this. `bytes`: received or sent.
  Step next(const Error& error, std::size_t bytes);

  const PeerAddress& address() const { return lease_.address(); }
  std::span<char> space() { return session_.read_space(); }
  std::string_view output() { return std::string_view(session_.output()).substr(sent_); }
  // `on_done` is called from a thread of the authenticator, or at once.
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

  ConnectionLease lease_;
  Session session_;
  ClientSession client_;
  const ProtocolLimits& limits_;
  Metrics& metrics_;
  const bool secure_;
  bool is_lost_ = false;  // the socket is: nothing can be sent any more
  std::size_t sent_ = 0;  // of session_.output()
  Step step_ = Step::close;
};

}  // namespace exchange
