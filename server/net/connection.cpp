#include "net/connection.hpp"

#include <spdlog/spdlog.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include "auth/peer.hpp"
#include "base/fail_point.hpp"

namespace exchange {
namespace {

namespace asio = boost::asio;
constexpr auto use_tuple = asio::as_tuple(asio::use_awaitable);

template <class Handler>
struct HandlerWaiter final : Connection::Waiter {
  explicit HandlerWaiter(Handler handler_) : handler(std::move(handler_)) {}
  void resume() override { handler(); }
  Handler handler;
};

// Completes when the core has committed the connection's commands.
auto execute(Connection& connection) {
  connection.commands = connection.session.commands();
  return asio::async_initiate<const asio::use_awaitable_t<>, void()>(
      [&connection](auto handler) {
        connection.waiter = std::make_unique<HandlerWaiter<decltype(handler)>>(std::move(handler));
        connection.host.submit(connection);
      },
      asio::use_awaitable);
}

// Replies nearly always fit the socket's buffer: try that before suspending. Returns the bytes
// sent.
std::size_t send_at_once(Connection& connection, boost::system::error_code& error) {
  // a record that goes out in part only TLS can go on with
  if (connection.stream.is_secure()) return 0;
  const std::size_t sent =
      connection.stream.write_some(asio::buffer(connection.session.output()), error);
  if (error != asio::error::would_block) return sent;
  error = {};
  return 0;
}

// Slow handshakes are slow clients. Whoever does not speak TLS is sent away without a word.
asio::awaitable<bool> tls_handshake(Connection& connection, ConnectionRegistry& registry,
                                    Metrics& metrics) {
  registry.expect_request(connection.socket(), 0);
  const auto [error] = co_await connection.stream.secure().async_handshake(
      asio::ssl::stream_base::server, use_tuple);
  registry.keep(connection.socket());
  if (error) Metrics::add(metrics.tls_failures);
  co_return !error;
}

// The client can tell our end of the stream from one that somebody else made.
asio::awaitable<void> tls_shutdown(Connection& connection, ConnectionRegistry& registry) {
  registry.expect_end(connection.socket());
  co_await connection.stream.secure().async_shutdown(use_tuple);
}

asio::awaitable<void> serve_requests(Connection& connection, ConnectionRegistry& registry,
                                     Metrics& metrics) {
  Session& session = connection.session;
  bool watched = false;  // has a deadline
  StageStamps& stamps = connection.stamps;
  connection.credentials = session.credentials();
  if (connection.credentials != nullptr)
    connection.credentials->peer = peer_of(peer_address(connection.socket()));
  while (!session.finished()) {
    stamps.begin();
    if (session.take_requests()) {
      stamps.end(Stage::parse);
      Metrics::add(metrics.requests, session.requests());
      if (const std::size_t errors = session.errors(); errors > 0)
        Metrics::add(metrics.client_errors, errors);
      watched = registry.begin_requests(connection.socket(), connection.activity, session, watched);
      const bool executed = !session.commands().empty();
      if (executed) co_await execute(connection);
      stamps.end(Stage::deliver);
      session.reply(connection.outcomes);
      connection.forget_outcomes();
      registry.end_requests(connection.socket(), connection.activity, watched);
      watched = false;
      fail_point("reply.before_send");
      boost::system::error_code error;
      const std::size_t sent = send_at_once(connection, error);
      if (!error && sent < session.output().size()) {
        registry.expect_taking(connection.socket(), session.memory_bytes());
        watched = true;
        const auto [write_error, bytes] = co_await asio::async_write(
            connection.stream, asio::buffer(session.output()) + sent, use_tuple);
        error = write_error;
      }
      if (error) co_return;
      fail_point("reply.after_send");
      stamps.end(Stage::write);
      if (executed) metrics.stage_times.record(stamps);
      session.output().clear();
      if (watched) registry.keep(connection.socket());
      watched = false;
    } else if (!session.finished()) {
      if (session.has_partial_request())
        registry.expect_request(connection.socket(), session.memory_bytes(),
                                session.document_is_complete());
      watched |= session.has_partial_request();
      const std::span<char> space = session.read_space();
      const auto [error, bytes] = co_await connection.stream.async_read_some(
          asio::buffer(space.data(), space.size()), use_tuple);
      if (is_end_of_stream(error))
        session.end_of_stream();
      else if (error)
        co_return;
      else
        session.received(bytes);
    }
  }
  if (session.refused()) Metrics::add(metrics.bad_frames);
  if (connection.stream.is_secure()) co_await tls_shutdown(connection, registry);
  if (!session.closed_by_server()) co_return;
  registry.linger(connection.socket());
  char discarded[1024];
  for (boost::system::error_code error; !error;) {
    const auto [read_error, bytes] =
        co_await connection.socket().async_read_some(asio::buffer(discarded), use_tuple);
    error = read_error;
  }
}

// Serves the client to its end, then deregisters and closes the socket.
asio::awaitable<void> serve(std::shared_ptr<Connection> connection, ConnectionRegistry& registry,
                            Metrics& metrics) {
  try {
    connection->socket().non_blocking(true);
    if (!connection->stream.is_secure() || co_await tls_handshake(*connection, registry, metrics))
      co_await serve_requests(*connection, registry, metrics);
  } catch (const std::exception& error) {
    spdlog::error("a connection failed: {}", error.what());
  }
  registry.remove(connection->socket());
  boost::system::error_code ignored;
  connection->socket().close(ignored);
}

void welcome(tcp::socket socket, Host& host, ConnectionRegistry& registry, const Options& options,
             Metrics& metrics, Certificate* certificate) try {
  const auto context = certificate == nullptr ? nullptr : certificate->context();
  const auto connection = std::make_shared<Connection>(
      Stream<tcp::socket>(std::move(socket), context.get()), options.protocol, host);
  if (!registry.add(connection->socket(), connection->activity)) return;
  try {
    asio::co_spawn(connection->stream.get_executor(), serve(connection, registry, metrics),
                   asio::detached);
  } catch (...) {
    registry.remove(connection->socket());
    throw;
  }
} catch (const std::exception& error) {  // no memory for one more
  spdlog::error("a connection could not be served: {}", error.what());
}

}  // namespace

asio::awaitable<void> accept_clients(tcp::acceptor& acceptor, Host& host,
                                     ConnectionRegistry& registry, const Options& options,
                                     Metrics& metrics, Certificate* certificate) {
  while (acceptor.is_open()) {
    auto [error, socket] = co_await acceptor.async_accept(use_tuple);
    if (registry.stopping()) co_return;
    if (!error) {
      welcome(std::move(socket), host, registry, options, metrics, certificate);
      continue;
    }
    Metrics::add(metrics.accept_failures);
    if (is_shortage(error)) {
      registry.handle_fd_exhaustion();
      asio::steady_timer pause(acceptor.get_executor(),
                               std::chrono::milliseconds(options.transport.accept_retry_ms));
      co_await pause.async_wait(use_tuple);
    }
  }
}

}  // namespace exchange
