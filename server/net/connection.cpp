#include "net/connection.hpp"
#include "base/log.hpp"

#include <boost/asio/write.hpp>
#include <coroutine>
#include <exception>
#include <memory>

namespace exchange {
namespace {

namespace asio = boost::asio;

// A coroutine that nothing waits for: it runs immediately up to its first wait, and frees its frame
// when it ends.
struct Detached {
  struct promise_type {
    Detached get_return_object() { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
};

// Suspends the coroutine until its connection is resumed. `start` begins the operation that the
// coroutine waits for. The operation may resume the coroutine on another thread before `start`
// returns, so `start` accesses nothing after it has begun the operation, and throws only if it has
// not begun it. await_suspend() is never inlined: a compiler that inlines it may keep locals of
// `start` in the coroutine's frame, which may not exist any more by then (llvm issue 56301).
template <class Start>
struct Wait {
  Connection& connection;
  Start start;

  bool await_ready() const { return false; }
  [[gnu::noinline]] void await_suspend(std::coroutine_handle<> waiter) {
    connection.waiter = waiter;
    start();
  }
  void await_resume() const {}
};
template <class Start>
Wait(Connection&, Start) -> Wait<Start>;

// The result of an operation on the socket.
struct Io {
  boost::system::error_code error;
  std::size_t bytes = 0;
};

// The handler of an operation that the connection waits for.
struct IoDone {
  Connection& connection;
  Io& io;

  void operator()(const boost::system::error_code& error, std::size_t bytes = 0) const {
    io = {error, bytes};
    resume(connection);
  }
  // The same thread next completes an operation that succeeds immediately: waking another thread of
  // the pool would cost more.
  friend bool asio_handler_is_continuation(const IoDone*) { return true; }
};

// Drives the conversation: performs its steps and waits for them. The end of the coroutine frame
// ends the connection.
Detached serve(std::unique_ptr<Connection> owned) {
  try {
    using Step = Conversation::Step;
    Connection& connection = *owned;
    Conversation& conversation = connection.conversation;
    Host& host = connection.host;
    Stream<StreamSocket>& stream = connection.stream;
    StreamSocket& socket = stream.next_layer();
    socket.non_blocking(true);
    for (Step step = conversation.start(); step != Step::close;) {
      Io io;
      const IoDone done{connection, io};
      switch (step) {
        case Step::handshake:
          co_await Wait{connection, [&] {
                          stream.secure().async_handshake(asio::ssl::stream_base::server, done);
                        }};
          connection.certificate->charge(Certificate::Port::xml, conversation.address(),
                                         stream.secure().native_handle());
          break;
        case Step::receive:
          // Asio tries to read before it waits. resume_later() lets the thread first send the other
          // replies that are ready; by then many clients have sent their next requests, and the
          // attempt succeeds.
          co_await Wait{connection, [&] { host.resume_later(connection); }};
          co_await Wait{connection,
                        [&] { stream.async_read_some(as_buffer(conversation.space()), done); }};
          break;
        case Step::check_keys:
          co_await Wait{connection, [&] {
                          conversation.check_keys(
                              [&connection] { connection.host.resume_later(connection); });
                        }};
          break;
        case Step::execute: co_await Wait{connection, [&] { host.submit(connection); }}; break;
        case Step::send_now: io.bytes = send_now(socket, conversation.output(), io.error); break;
        case Step::send:
          co_await Wait{connection, [&] {
                          asio::async_write(stream, asio::buffer(conversation.output()), done);
                        }};
          break;
        case Step::shut_down_tls:
          co_await Wait{connection, [&] { stream.secure().async_shutdown(done); }};
          break;
        case Step::end_output: socket.shutdown(asio::socket_base::shutdown_send, io.error); break;
        case Step::discard:
          co_await Wait{connection,
                        [&] { socket.async_read_some(as_buffer(conversation.space()), done); }};
          break;
        case Step::close: break;
      }
      step = conversation.next(io.error, io.bytes);
    }
  } catch (const std::exception& error) {
    log_error("a connection failed: {}", error.what());
  }
}

}  // namespace

void serve_client(StreamSocket socket, Host& host, ConnectionTable& table,
                  const TransportParts& parts) {
  auto connection = admit_client<Connection>(std::move(socket), host, table, parts);
  if (connection != nullptr) serve(std::move(connection));
}

void accept_clients(const asio::any_io_executor& executor, StreamAcceptor& acceptor,
                    std::function<void(StreamSocket)> serve, ConnectionTable& table,
                    const TransportParts& parts) {
  start_accepting(executor, acceptor,
                  std::chrono::milliseconds(parts.options.limits.accept_retry_ms), std::move(serve),
                  [&](const boost::system::error_code& error) {
                    if (table.stopping()) return;
                    Metrics::add(parts.metrics.accept_failures);
                    if (is_fd_exhaustion(error)) table.handle_fd_exhaustion();
                  });
}

}  // namespace exchange
