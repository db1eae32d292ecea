#pragma once
// An honest exchange in this process whose replies a test may edit, delay or drop: a server that
// does what no server should. One thread per connection.

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <functional>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "support/local.hpp"

namespace exchange::testing {

class EditedServer {
 public:
  // `edit(reply, number)`: what the client gets in place of the reply to the order, query or cancel
  // with this number, from 1; nothing: the connection is closed. Called on any of the threads, one
  // at a time.
  using Edit = std::function<std::optional<std::string>(std::string reply, unsigned number)>;
  explicit EditedServer(Edit edit)
      : edit_(std::move(edit)), acceptor_(context_, {boost::asio::ip::address_v4::loopback(), 0}) {
    accept_thread_ = std::thread([this] { accept(); });
  }
  ~EditedServer() {
    ::shutdown(acceptor_.native_handle(), SHUT_RDWR);
    accept_thread_.join();
    {
      const std::lock_guard lock(mutex_);
      for (tcp::socket& socket : sockets_) ::shutdown(socket.native_handle(), SHUT_RDWR);
    }
    for (std::thread& thread : threads_) thread.join();
  }
  std::string address() const {
    return "127.0.0.1:" + std::to_string(acceptor_.local_endpoint().port());
  }

 private:
  using tcp = boost::asio::ip::tcp;

  void accept() {
    while (true) {
      boost::system::error_code error;
      tcp::socket socket = acceptor_.accept(error);
      if (error) return;
      const std::lock_guard lock(mutex_);
      sockets_.push_back(std::move(socket));
      threads_.emplace_back([this, &own = sockets_.back()] { serve(own); });
    }
  }

  void serve(tcp::socket& socket) {
    const ProtocolLimits limits;
    Session session(limits);
    boost::system::error_code error;
    while (!error) {
      if (!session.take_requests()) {
        const std::span<char> space = session.read_space();
        const std::size_t bytes =
            socket.read_some(boost::asio::buffer(space.data(), space.size()), error);
        if (!error) session.received(bytes);
        continue;
      }
      std::optional<std::string> reply;
      {
        const std::lock_guard lock(mutex_);
        const bool edited = trades(session.commands());
        service_.answer(session);
        reply = std::exchange(session.output(), {});
        if (edited) reply = edit_(std::move(*reply), ++number_);
      }
      if (!reply) break;
      boost::asio::write(socket, boost::asio::buffer(*reply), error);
    }
    ::shutdown(socket.native_handle(), SHUT_RDWR);
  }

  // Neither the set-up nor the question of account 0 whether the server is there.
  static bool trades(const std::vector<Command>& commands) {
    if (commands.empty() || std::holds_alternative<CreateAccount>(commands.front())) return false;
    const auto* query = std::get_if<QueryOrder>(&commands.front());
    return query == nullptr || query->account.view() != "0";
  }

  const Edit edit_;
  LocalService service_;
  unsigned number_ = 0;
  boost::asio::io_context context_;
  tcp::acceptor acceptor_;
  std::mutex mutex_;
  std::list<tcp::socket> sockets_;
  std::list<std::thread> threads_;
  std::thread accept_thread_;
};

}  // namespace exchange::testing
