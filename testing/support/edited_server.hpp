#pragma once
// An honest exchange in this process whose replies a test may edit, delay or drop: a server that
// does what no server should. One thread per connection.

#include <boost/asio/write.hpp>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "support/local.hpp"
#include "support/local_port.hpp"

namespace exchange::testing {

class EditedServer {
 public:
  // `edit(reply, number)`: what the client gets in place of the reply to the order, query or cancel
  // with this number, from 1; nothing: the connection is closed. Called on any of the threads, one
  // at a time.
  using Edit = std::function<std::optional<std::string>(std::string reply, unsigned number)>;
  explicit EditedServer(Edit edit) : edit_(std::move(edit)) {}
  std::string address() const { return port_.address(); }

 private:
  void serve(LocalPort::tcp::socket socket) {
    const ProtocolLimits limits;
    Session session(limits);
    while (true) {
      if (!session.take_requests()) {
        const std::span<char> space = session.read_space();
        session.received(socket.read_some(boost::asio::buffer(space.data(), space.size())));
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
      boost::asio::write(socket, boost::asio::buffer(*reply));
    }
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
  std::mutex mutex_;
  LocalPort port_{[this](auto socket) { serve(std::move(socket)); }};
};

}  // namespace exchange::testing
