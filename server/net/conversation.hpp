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
// It keeps the connection's lease in the state that fits, counts, and takes the time of each stage.
// Owner: the connection. Thread: one at a time. No sockets.

#include <boost/system/error_code.hpp>
#include <functional>
#include <optional>
#include <span>
#include <string_view>

#include "auth/authenticator.hpp"
#include "core/service.hpp"
#include "metrics/metrics.hpp"
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
  Step keys_checked();
  Step reply();
  Step sent_now(const Error& error, std::size_t bytes);
  Step sent();
  Step end();
  Step lost();
  Step cancel_tied_orders();
  Step linger();

  ConnectionLease lease_;
  Submission& submission_;
  Session session_;
  Metrics& metrics_;
  Authenticator* const authenticator_;
  std::optional<KeyCheck> keys_;
  const bool secure_;
  bool executed_ = false;  // the batch has commands
  std::size_t sent_ = 0;   // of session_.output()
  Step step_ = Step::close;
};

}  // namespace exchange
