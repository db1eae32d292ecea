#pragma once
// One client of the XML port, and the coroutine that the policies `pool` and `loop` share: it
// drives the client's Conversation over an asynchronous stream. Owner: the coroutine, or the thread
// of the client (policy `thread`). Thread: one at a time.

#include <boost/asio/any_io_executor.hpp>
#include <coroutine>
#include <functional>

#include "core/service.hpp"
#include "net/certificate.hpp"
#include "net/connection_table.hpp"
#include "net/conversation.hpp"
#include "net/listener.hpp"
#include "net/stream.hpp"
#include "net/transport.hpp"

namespace exchange {

struct Client : Submission {
  Client(Stream<StreamSocket> stream_, ConnectionSlot slot, CompletionSink& sink_,
         const TransportParts& parts)
      : stream(std::move(stream_)),
        conversation(std::move(slot), *this, parts.protocol, parts.metrics, parts.authenticator,
                     stream.is_secure()) {
    sink = &sink_;
  }
  Stream<StreamSocket> stream;
  Conversation conversation;  // ends before the socket is closed
};
// Makes a client with `sink` for the socket just accepted. If the client is refused, closes the
// socket and returns null.
template <class Kind, class Sink>
std::unique_ptr<Kind> admit_client(StreamSocket socket, Sink& sink, ConnectionTable& table,
                                   const TransportParts& parts) {
  const PeerAddress peer = peer_address(socket.native_handle());
  const bool secure = parts.certificate != nullptr && !is_user(peer);
  const auto context = secure ? parts.certificate->admit(Certificate::Port::xml, peer) : nullptr;
  if (secure && context == nullptr) return nullptr;
  Stream<StreamSocket> stream(std::move(socket), context.get());
  std::optional<ConnectionSlot> slot = table.admit(stream.next_layer());
  if (!slot) return nullptr;
  return std::make_unique<Kind>(std::move(stream), std::move(*slot), sink, parts);
}

struct Connection;

// Runs coroutines: hands their submissions to the service, and resumes the connections when the
// submissions are completed.
class Host : public CompletionSink {
 public:
  virtual void submit(Connection& connection) = 0;
  // Any thread: resumes the connection on one of the host's threads, after the handlers that are
  // ready there now.
  virtual void resume_later(Connection& connection) = 0;

 protected:
  ~Host() = default;
};

// A connection has one operation under way at any time, so it needs no strand even if many threads
// run it.
struct Connection : Client {
  Connection(Stream<StreamSocket> stream_, ConnectionSlot slot, Host& host_,
             const TransportParts& parts)
      : Client(std::move(stream_), std::move(slot), host_, parts),
        host(host_),
        certificate(parts.certificate) {}

  Host& host;
  Certificate* const certificate;  // null: no TLS
  std::coroutine_handle<> waiter;  // its coroutine, while it waits
};

// Resumes the coroutine. Thread: one that runs the connection's executor. The connection may not
// exist afterwards.
inline void resume(Connection& connection) { connection.waiter.resume(); }

// Serves a client that was accepted, to its end, on the context of its socket. Thread: one that
// runs that context.
void serve_client(StreamSocket socket, Host& host, ConnectionTable& table,
                  const TransportParts& parts);
// Accepts clients on `executor` until the acceptor is closed, and calls `serve` with each.
void accept_clients(const boost::asio::any_io_executor& executor, StreamAcceptor& acceptor,
                    std::function<void(StreamSocket)> serve, ConnectionTable& table,
                    const TransportParts& parts);

}  // namespace exchange
