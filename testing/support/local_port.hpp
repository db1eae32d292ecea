#pragma once
// A TCP port of this process with one thread per connection, for the servers of tests. Its
// destructor ends all connections.

#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <thread>

namespace exchange::testing {

class LocalPort {
 public:
  using tcp = boost::asio::ip::tcp;
  // `serve` is called on the thread of the connection, which is closed when it returns or throws.
  explicit LocalPort(std::function<void(tcp::socket)> serve)
      : serve_(std::move(serve)),
        acceptor_(context_, {boost::asio::ip::address_v4::loopback(), 0}),
        accept_thread_([this] { accept(); }) {}
  ~LocalPort() {
    ::shutdown(acceptor_.native_handle(), SHUT_RDWR);
    accept_thread_.join();
    for (const int socket : sockets_) ::shutdown(socket, SHUT_RDWR);
    for (std::thread& thread : threads_) thread.join();
    for (const int socket : sockets_) ::close(socket);
  }
  std::string address() const {
    return "127.0.0.1:" + std::to_string(acceptor_.local_endpoint().port());
  }

 private:
  void accept() {
    while (true) {
      boost::system::error_code error;
      tcp::socket socket = acceptor_.accept(error);
      if (error) return;
      sockets_.push_back(::dup(socket.native_handle()));  // valid until the end
      threads_.emplace_back(
          [this, own = sockets_.back()](tcp::socket connected) {
            try {
              serve_(std::move(connected));
            } catch (const std::exception&) {  // the client has closed
            }
            ::shutdown(own, SHUT_RDWR);
          },
          std::move(socket));
    }
  }

  const std::function<void(tcp::socket)> serve_;
  boost::asio::io_context context_;
  tcp::acceptor acceptor_;
  std::list<int> sockets_;  // of the accepting thread, until it has ended; so is threads_
  std::list<std::thread> threads_;
  std::thread accept_thread_;
};

}  // namespace exchange::testing
