#include "net/connection.hpp"

#include <spdlog/spdlog.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <tuple>

#include "net/listener.hpp"

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

// Completes when the connection is resumed. `start` begins what it waits for.
template <class Start>
auto wait_after(Connection& connection, Start start) {
  return asio::async_initiate<const asio::use_awaitable_t<>, void()>(
      [&connection, start](auto handler) {
        connection.waiter = std::make_unique<HandlerWaiter<decltype(handler)>>(std::move(handler));
        start(connection);
      },
      asio::use_awaitable);
}

void execute(Connection& connection) { connection.host.submit(connection); }

void check_keys(Connection& connection) {
  connection.conversation.check_keys([&connection] {
    asio::post(connection.stream.get_executor(), [&connection] { resume(connection); });
  });
}

// The driver of the conversation: does its steps and waits for them.
asio::awaitable<void> run(Connection& connection) {
  using Step = Conversation::Step;
  Conversation& conversation = connection.conversation;
  Stream<tcp::socket>& stream = connection.stream;
  tcp::socket& socket = connection.socket();
  socket.non_blocking(true);
  for (Step step = conversation.start(); step != Step::close;) {
    boost::system::error_code error;
    std::size_t bytes = 0;
    switch (step) {
      case Step::handshake:
        std::tie(error) =
            co_await stream.secure().async_handshake(asio::ssl::stream_base::server, use_tuple);
        break;
      case Step::receive:
        std::tie(error, bytes) =
            co_await stream.async_read_some(as_buffer(conversation.space()), use_tuple);
        break;
      case Step::check_keys: co_await wait_after(connection, check_keys); break;
      case Step::execute: co_await wait_after(connection, execute); break;
      case Step::send_now: bytes = send_now(socket, conversation.output(), error); break;
      case Step::send:
        std::tie(error, bytes) =
            co_await asio::async_write(stream, asio::buffer(conversation.output()), use_tuple);
        break;
      case Step::shut_down_tls:
        std::tie(error) = co_await stream.secure().async_shutdown(use_tuple);
        break;
      case Step::end_output: socket.shutdown(tcp::socket::shutdown_send, error); break;
      case Step::discard:
        std::tie(error, bytes) =
            co_await socket.async_read_some(as_buffer(conversation.space()), use_tuple);
        break;
      case Step::close: break;
    }
    step = conversation.next(error, bytes);
  }
}

// The end of the frame ends the connection.
asio::awaitable<void> serve(std::shared_ptr<Connection> connection) {
  try {
    co_await run(*connection);
  } catch (const std::exception& error) {
    spdlog::error("a connection failed: {}", error.what());
  }
}

void start_connection(tcp::socket socket, Host& host, ConnectionTable& table,
                      const TransportParts& parts) {
  const auto context = parts.certificate == nullptr ? nullptr : parts.certificate->context();
  Stream<tcp::socket> stream(std::move(socket), context.get());
  std::optional<ConnectionLease> lease = table.admit(stream.next_layer());
  if (!lease) return;
  auto connection = std::make_shared<Connection>(std::move(stream), std::move(*lease), host, parts);
  const auto executor = connection->stream.get_executor();
  asio::co_spawn(executor, serve(std::move(connection)), asio::detached);
}

}  // namespace

void accept_clients(const asio::any_io_executor& executor, tcp::acceptor& acceptor, Host& host,
                    ConnectionTable& table, const TransportParts& parts) {
  start_accepting(
      executor, acceptor, std::chrono::milliseconds(parts.options.limits.accept_retry_ms),
      [&](tcp::socket socket) { start_connection(std::move(socket), host, table, parts); },
      [&](const boost::system::error_code& error) {
        if (table.stopping()) return;
        Metrics::add(parts.metrics.accept_failures);
        if (is_fd_exhaustion(error)) table.handle_fd_exhaustion();
      });
}

}  // namespace exchange
