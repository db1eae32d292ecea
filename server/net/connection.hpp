#pragma once
// One client under an event queue: the coroutine that pool and loop share. It drives a Conversation
// over an asynchronous stream.

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <coroutine>

#include "core/service.hpp"
#include "net/certificate.hpp"
#include "net/connection_table.hpp"
#include "net/conversation.hpp"
#include "net/stream.hpp"
#include "net/transport.hpp"

namespace exchange {

struct Connection;

// Where coroutines run: hands submissions to the service and resumes their connections when it gets
// them back.
class Host : public CompletionSink {
 public:
  virtual void submit(Connection& connection) = 0;
  // Any thread: resumes the connection on one of the host's threads, behind what is ready there
  // now.
  virtual void resume_later(Connection& connection) = 0;

 protected:
  ~Host() = default;
};

// Has one operation under way at any time, so that it needs no strand also where many threads run
// it.
struct Connection : Submission {
  Connection(Stream<tcp::socket> stream_, ConnectionLease lease, Host& host_,
             const TransportParts& parts)
      : stream(std::move(stream_)),
        conversation(std::move(lease), *this, parts.protocol, parts.metrics, parts.authenticator,
                     stream.is_secure()),
        host(host_),
        certificate(parts.certificate) {
    sink = &host;
  }

  tcp::socket& socket() { return stream.next_layer(); }

  Stream<tcp::socket> stream;
  Conversation conversation;  // ends before the socket is closed
  Host& host;
  Certificate* const certificate;  // null: no TLS
  std::coroutine_handle<> waiter;  // its coroutine, while that waits
};

// On a thread that runs the connection's executor. The connection may be gone afterwards.
inline void resume(Connection& connection) { connection.waiter.resume(); }

// Accepts clients on `executor` until the acceptor is closed, and serves each to its end on the
// acceptor's context.
void accept_clients(const boost::asio::any_io_executor& executor, tcp::acceptor& acceptor,
                    Host& host, ConnectionTable& table, const TransportParts& parts);

}  // namespace exchange
