#include "net/listener.hpp"
#include "base/event.hpp"
#include "base/log.hpp"

#include <netinet/tcp.h>
#include <sys/socket.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>
#include <system_error>

namespace exchange {

namespace asio = boost::asio;

namespace {

asio::awaitable<void> accept_loop(tcp::acceptor& acceptor, std::chrono::milliseconds retry,
                                  std::function<void(tcp::socket)> serve,
                                  std::function<void(const boost::system::error_code&)> failed) {
  while (acceptor.is_open()) {
    bool exhausted = false;
    try {
      auto [error, socket] = co_await acceptor.async_accept(use_tuple);
      if (error)
        failed(error);
      else
        serve(std::move(socket));
      exhausted = is_fd_exhaustion(error);
    } catch (const std::exception& error) {  // no memory for one more
      log_error("a connection could not be accepted: {}", error.what());
      exhausted = true;
    }
    if (!exhausted) continue;
    asio::steady_timer pause(acceptor.get_executor(), retry);
    co_await pause.async_wait(use_tuple);
  }
}

[[noreturn]] void throw_unusable(const Listening& listening,
                                 const boost::system::error_code& error) {
  throw std::system_error(error, "cannot listen on " + listening.bind + ":" +
                                     std::to_string(listening.port) + " (" + listening.port_option +
                                     " takes another port, " + listening.bind_option +
                                     " another address)");
}

tcp::acceptor bind(asio::io_context& context, const Listening& listening) {
  boost::system::error_code error;
  const auto ip = asio::ip::make_address(listening.bind, error);
  if (error)
    throw std::system_error(error, "cannot listen on " + listening.bind + ":" +
                                       std::to_string(listening.port) + ": " +
                                       listening.bind_option + " is not an IP address");
  const tcp::endpoint endpoint(ip, listening.port);
  tcp::acceptor acceptor(context);
  acceptor.open(endpoint.protocol(), error);
  if (!error) acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  using reuse_port = asio::detail::socket_option::boolean<SOL_SOCKET, SO_REUSEPORT>;
  if (!error && listening.one_of_many) acceptor.set_option(reuse_port(true), error);
  // Accepted sockets inherit these options. The kernel drops a client that does not answer at all
  // after two minutes.
  const auto set = [&](int level, int name, int value) {
    ::setsockopt(acceptor.native_handle(), level, name, &value, sizeof value);
  };
  if (!error) {
    set(IPPROTO_TCP, TCP_NODELAY, 1);
    set(SOL_SOCKET, SO_KEEPALIVE, 1);
    set(IPPROTO_TCP, TCP_KEEPIDLE, 60);
    set(IPPROTO_TCP, TCP_KEEPINTVL, 15);
    set(IPPROTO_TCP, TCP_KEEPCNT, 4);
  }
  if (!error) acceptor.bind(endpoint, error);
  if (error) throw_unusable(listening, error);
  return acceptor;
}

}  // namespace

tcp::acceptor listen(asio::io_context& context, const Listening& listening) {
  tcp::acceptor acceptor = bind(context, listening);
  boost::system::error_code error;
  acceptor.listen(listening.backlog, error);
  if (error) throw_unusable(listening, error);
  return acceptor;
}

Listening listening(const NetOptions& options, std::uint16_t port, bool one_of_many) {
  return {options.bind, port, options.limits.listen_backlog, one_of_many, "--port", "--bind"};
}

tcp::acceptor reserve(asio::io_context& context, Listening listening, std::uint16_t& port) {
  listening.port = port;
  tcp::acceptor acceptor = bind(context, listening);
  port = acceptor.local_endpoint().port();
  return acceptor;
}

bool is_fd_exhaustion(const boost::system::error_code& error) {
  return error == boost::system::errc::too_many_files_open ||
         error == boost::system::errc::too_many_files_open_in_system ||
         error == boost::system::errc::no_buffer_space ||
         error == boost::system::errc::not_enough_memory;
}

void start_accepting(const asio::any_io_executor& executor, tcp::acceptor& acceptor,
                     std::chrono::milliseconds retry, std::function<void(tcp::socket)> serve,
                     std::function<void(const boost::system::error_code&)> failed) {
  asio::co_spawn(executor, accept_loop(acceptor, retry, std::move(serve), std::move(failed)),
                 [](const std::exception_ptr& problem) {
                   if (problem) std::terminate();
                 });
}

std::size_t send_now(tcp::socket& socket, std::string_view bytes,
                     boost::system::error_code& error) {
  const ssize_t sent =
      ::send(socket.native_handle(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent >= 0) return std::size_t(sent);
  if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)
    error.assign(errno, boost::system::system_category());
  return 0;
}

}  // namespace exchange
