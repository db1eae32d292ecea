#include "net/listener.hpp"
#include "base/event.hpp"
#include "base/log.hpp"

#include <fcntl.h>
#include <netinet/tcp.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>
#include <cstring>
#include <system_error>

namespace exchange {

namespace asio = boost::asio;
using asio::ip::tcp;

namespace {

asio::awaitable<void> accept_loop(StreamAcceptor& acceptor, std::chrono::milliseconds retry,
                                  std::function<void(StreamSocket)> serve,
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

// The directory of a UNIX-domain socket, locked: of two servers that start at once, neither removes
// the other's socket.
class DirectoryLock {
 public:
  explicit DirectoryLock(const std::string& path)
      : directory_(::open(directory_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    if (directory_ < 0 || ::flock(directory_, LOCK_EX) != 0) {
      const int error = errno;
      if (directory_ >= 0) ::close(directory_);
      throw std::system_error(error, std::system_category(), directory_of(path));
    }
  }
  ~DirectoryLock() { ::close(directory_); }
  DirectoryLock(const DirectoryLock&) = delete;

 private:
  static std::string directory_of(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
  }
  const int directory_;
};

// Removes the socket of a server that has ended without removing it.
void remove_stale(const std::string& path) {
  struct stat file {};
  if (::lstat(path.c_str(), &file) != 0) return;
  if (!S_ISSOCK(file.st_mode)) throw std::runtime_error("the file exists and is not a socket");
  asio::io_context context;
  asio::local::stream_protocol::socket socket(context);
  boost::system::error_code error;
  socket.connect(asio::local::stream_protocol::endpoint(path), error);
  if (!error) throw std::runtime_error("another server listens there");
  if (error != asio::error::connection_refused) throw boost::system::system_error(error);
  ::unlink(path.c_str());
}

StreamAcceptor bind(asio::io_context& context, const Listening& listening) {
  boost::system::error_code error;
  const auto ip = asio::ip::make_address(listening.bind, error);
  if (error)
    throw std::system_error(error, "cannot listen on " + listening.bind + ":" +
                                       std::to_string(listening.port) + ": " +
                                       listening.bind_option + " is not an IP address");
  const tcp::endpoint endpoint(ip, listening.port);
  StreamAcceptor acceptor(context);
  acceptor.open(asio::generic::stream_protocol(endpoint.protocol()), error);
  if (!error) acceptor.set_option(asio::socket_base::reuse_address(true), error);
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
  if (!error) acceptor.bind(StreamAcceptor::endpoint_type(endpoint), error);
  if (error) throw_unusable(listening, error);
  return acceptor;
}

}  // namespace

StreamAcceptor listen(asio::io_context& context, const Listening& listening) {
  StreamAcceptor acceptor = bind(context, listening);
  boost::system::error_code error;
  acceptor.listen(listening.backlog, error);
  if (error) throw_unusable(listening, error);
  return acceptor;
}

Listening listening(const NetOptions& options, std::uint16_t port, bool one_of_many) {
  return {options.bind, port, options.limits.listen_backlog, one_of_many, "--port", "--bind"};
}

StreamAcceptor reserve(asio::io_context& context, Listening listening, std::uint16_t& port) {
  listening.port = port;
  StreamAcceptor acceptor = bind(context, listening);
  port = port_of(acceptor);
  return acceptor;
}

std::uint16_t port_of(const StreamAcceptor& acceptor) {
  const auto endpoint = acceptor.local_endpoint();
  tcp::endpoint own;
  std::memcpy(own.data(), endpoint.data(), std::min(own.capacity(), endpoint.size()));
  return own.port();
}

LocalListener::LocalListener(asio::any_io_executor executor, const LocalSocket& socket, int backlog,
                             const char* option) try
    : acceptor(std::move(executor)), path_(socket.path) {
  const DirectoryLock lock(path_);
  remove_stale(path_);
  const StreamAcceptor::endpoint_type endpoint{asio::local::stream_protocol::endpoint(path_)};
  acceptor.open(endpoint.protocol());
  acceptor.bind(endpoint);
  struct stat file {};
  // no client can connect before the socket listens
  if (::chmod(path_.c_str(), socket.mode) != 0 || ::stat(path_.c_str(), &file) != 0)
    throw std::system_error(errno, std::system_category(), "chmod");
  device_ = file.st_dev;
  inode_ = file.st_ino;
  acceptor.listen(backlog);
} catch (const std::exception& error) {
  throw std::runtime_error("cannot listen on unix:" + socket.path + " (" + option +
                           "): " + error.what());
}

LocalListener::~LocalListener() {
  struct stat file {};
  if (inode_ != 0 && ::stat(path_.c_str(), &file) == 0 && file.st_dev == device_ &&
      file.st_ino == inode_)
    ::unlink(path_.c_str());
}

bool is_fd_exhaustion(const boost::system::error_code& error) {
  return error == boost::system::errc::too_many_files_open ||
         error == boost::system::errc::too_many_files_open_in_system ||
         error == boost::system::errc::no_buffer_space ||
         error == boost::system::errc::not_enough_memory;
}

void start_accepting(const asio::any_io_executor& executor, StreamAcceptor& acceptor,
                     std::chrono::milliseconds retry, std::function<void(StreamSocket)> serve,
                     std::function<void(const boost::system::error_code&)> failed) {
  asio::co_spawn(executor, accept_loop(acceptor, retry, std::move(serve), std::move(failed)),
                 [](const std::exception_ptr& problem) {
                   if (problem) std::terminate();
                 });
}

std::size_t send_now(StreamSocket& socket, std::string_view bytes,
                     boost::system::error_code& error) {
  const ssize_t sent =
      ::send(socket.native_handle(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent >= 0) return std::size_t(sent);
  if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)
    error.assign(errno, boost::system::system_category());
  return 0;
}

}  // namespace exchange
