#include "net/listener.hpp"

#include <netinet/tcp.h>
#include <sched.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <system_error>

#include "net/transport.hpp"

namespace exchange {

namespace asio = boost::asio;

tcp::acceptor listen(asio::io_context& context, const NetOptions& options, std::uint16_t port,
                     Sharing sharing) {
  const std::string where = options.bind + ":" + std::to_string(port);
  boost::system::error_code error;
  const auto ip = asio::ip::make_address(options.bind, error);
  if (error) throw std::system_error(error, "cannot listen on " + where + ": not an IP address");
  const tcp::endpoint endpoint(ip, port);
  tcp::acceptor acceptor(context);
  acceptor.open(endpoint.protocol(), error);
  if (!error) acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  using reuse_port = asio::detail::socket_option::boolean<SOL_SOCKET, SO_REUSEPORT>;
  if (!error && sharing == Sharing::one_of_many) acceptor.set_option(reuse_port(true), error);
  // What accepted sockets inherit. A client that does not answer at all is given up after two
  // minutes.
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
  if (!error) acceptor.listen(options.limits.listen_backlog, error);
  if (error)
    throw std::system_error(error, "cannot listen on " + where +
                                       " (--port takes another port, --bind another address)");
  return acceptor;
}

bool is_fd_exhaustion(const boost::system::error_code& error) {
  return error == boost::system::errc::too_many_files_open ||
         error == boost::system::errc::too_many_files_open_in_system ||
         error == boost::system::errc::no_buffer_space ||
         error == boost::system::errc::not_enough_memory;
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

unsigned usable_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return unsigned(std::max(1, CPU_COUNT(&set)));
}

}  // namespace exchange
