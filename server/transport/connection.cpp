#include "transport/connection.hpp"

#include <spdlog/spdlog.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

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
asio::awaitable<void> execute(Connection& connection) {
  connection.commands = connection.session.commands();
  return asio::async_initiate<const asio::use_awaitable_t<>, void()>(
      [&connection](auto handler) {
        connection.waiter = std::make_unique<HandlerWaiter<decltype(handler)>>(std::move(handler));
        connection.host.submit(connection);
      },
      asio::use_awaitable);
}

// Replies nearly always fit the socket's buffer: try that before suspending.
asio::awaitable<bool> send(Connection& connection) {
  std::string& output = connection.session.output();
  boost::system::error_code error;
  std::size_t sent = connection.socket.write_some(asio::buffer(output), error);
  if (error == asio::error::would_block) {
    error = {};
    sent = 0;
  }
  if (!error && sent < output.size()) {
    const auto [write_error, bytes] =
        co_await asio::async_write(connection.socket, asio::buffer(output) + sent, use_tuple);
    error = write_error;
  }
  output.clear();
  co_return !error;
}

asio::awaitable<void> converse(Connection& connection, ConnectionRegistry& registry, Metrics& metrics) {
  Session& session = connection.session;
  while (!session.finished()) {
    if (session.take_wave()) {
      Metrics::add(metrics.requests, session.requests());
      connection.outcomes.clear();
      if (!session.commands().empty()) co_await execute(connection);
      session.reply(connection.outcomes);
      if (!co_await send(connection)) co_return;
    } else if (!session.finished()) {
      const std::span<char> space = session.read_space();
      const auto [error, bytes] = co_await connection.socket.async_read_some(asio::buffer(space.data(), space.size()), use_tuple);
      if (error == asio::error::eof)
        session.end_of_stream();
      else if (error)
        co_return;
      else
        session.received(bytes);
    }
  }
  if (!session.refused()) co_return;
  registry.linger(connection.socket);
  char discarded[1024];
  for (boost::system::error_code error; !error;) {
    const auto [read_error, bytes] = co_await connection.socket.async_read_some(asio::buffer(discarded), use_tuple);
    error = read_error;
  }
}

}  // namespace

asio::awaitable<void> serve(std::shared_ptr<Connection> connection, ConnectionRegistry& registry, Metrics& metrics) {
  try {
    connection->socket.non_blocking(true);
    co_await converse(*connection, registry, metrics);
  } catch (const std::exception& error) {
    spdlog::error("a connection failed: {}", error.what());
  }
  registry.remove(connection->socket);
  boost::system::error_code ignored;
  connection->socket.close(ignored);
}

asio::awaitable<void> accept_clients(tcp::acceptor& acceptor, ConnectionRegistry& registry, const TransportLimits& limits,
                                     Metrics& metrics, std::function<void(tcp::socket)> welcome) {
  while (acceptor.is_open()) {
    auto [error, socket] = co_await acceptor.async_accept(use_tuple);
    if (registry.stopping()) co_return;
    if (!error) {
      if (registry.add(socket)) welcome(std::move(socket));
      continue;
    }
    Metrics::add(metrics.accept_failures);
    if (is_shortage(error)) {
      asio::steady_timer pause(acceptor.get_executor(), std::chrono::milliseconds(limits.accept_retry_ms));
      co_await pause.async_wait(use_tuple);
    }
  }
}

}  // namespace exchange
