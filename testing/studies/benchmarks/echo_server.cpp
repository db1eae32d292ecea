// The floor that the exchange is measured against: a bare Boost.Asio server on one thread, which
// answers whatever it reads with one canned reply, of the bytes that the exchange answers an order
// with.
//   echo_server [PORT]     0 or none: a free port of 127.0.0.1
//   loadgen --connect 127.0.0.1:PORT --reply-check off

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
constexpr auto use_tuple = asio::as_tuple(asio::use_awaitable);
constexpr std::string_view reply =
    "<results><opened sym=\"SYM1\" amount=\"10\" limit=\"100.25\" id=\"123456\"/></results>\n";

asio::awaitable<void> serve(tcp::socket socket) {
  char bytes[4096];
  while (true) {
    const auto [read_error, received] =
        co_await socket.async_read_some(asio::buffer(bytes), use_tuple);
    if (read_error) co_return;
    const auto [write_error, sent] =
        co_await asio::async_write(socket, asio::buffer(reply), use_tuple);
    if (write_error) co_return;
  }
}

asio::awaitable<void> accept_clients(tcp::acceptor& acceptor) {
  while (true) {
    auto [error, socket] = co_await acceptor.async_accept(use_tuple);
    if (error == asio::error::operation_aborted) co_return;
    if (error) continue;
    boost::system::error_code ignored;
    socket.set_option(tcp::no_delay(true), ignored);
    asio::co_spawn(acceptor.get_executor(), serve(std::move(socket)), asio::detached);
  }
}

}  // namespace

int main(int argc, char** argv) try {
  const auto port = static_cast<unsigned short>(argc > 1 ? std::atoi(argv[1]) : 0);
  asio::io_context context(1);
  tcp::acceptor acceptor(context, {asio::ip::address_v4::loopback(), port});
  acceptor.listen(4096);
  asio::signal_set signals(context, SIGINT, SIGTERM);
  signals.async_wait([&](auto...) { context.stop(); });
  asio::co_spawn(context, accept_clients(acceptor), asio::detached);
  std::printf("ready port=%u\n", unsigned(acceptor.local_endpoint().port()));
  std::fflush(stdout);
  context.run();
} catch (const std::exception& error) {
  std::fprintf(stderr, "echo_server: %s\n", error.what());
  return 1;
}
