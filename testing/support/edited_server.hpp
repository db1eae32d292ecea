#pragma once
// An honest exchange in this process whose replies a test may edit, delay or drop, and which may
// have the quirks of other servers of the protocol. So a test gets a server that breaks the rules.
// One thread per connection.

#include <algorithm>
#include <atomic>
#include <boost/asio/write.hpp>
#include <chrono>
#include <functional>
#include <mutex>
#include <optional>
#include <semaphore>
#include <string>

#include "support/local.hpp"
#include "support/local_port.hpp"

namespace exchange::testing {

class EditedServer {
 public:
  // `edit(reply, number)` returns what the client gets in place of the reply to the order, query or
  // cancel with this number, from 1; if it returns nothing, the connection is closed. Called on any
  // of the threads, one at a time.
  using Edit = std::function<std::optional<std::string>(std::string reply, unsigned number)>;
  struct Quirks {
    // the limit of connections served at once; others wait until one of them ends
    std::ptrdiff_t served_max = 10'000;
    bool closes_after_reply = false;
    bool dies_of_empty_connection = false;  // which ends without a request
    std::function<bool(const Command&)> dies_of = [](const Command&) { return false; };
  };
  explicit EditedServer(Edit edit) : EditedServer(std::move(edit), Quirks()) {}
  EditedServer(Edit edit, Quirks quirks)
      : edit_(std::move(edit)), quirks_(std::move(quirks)), places_(quirks_.served_max) {}
  ~EditedServer() { ending_ = true; }
  std::string address() const { return port_.address(); }

 private:
  void serve(LocalPort::tcp::socket socket) {
    while (!places_.try_acquire_for(std::chrono::milliseconds(10)))
      if (ending_) return;
    try {
      serve_requests(socket);
    } catch (const std::exception&) {  // the client has closed
    }
    places_.release();
  }

  void serve_requests(LocalPort::tcp::socket& socket) {
    const ProtocolLimits limits;
    XmlSession session(limits);
    bool asked = false;
    while (!dead_) {
      if (!session.take_requests()) {
        const std::span<char> space = session.read_space();
        boost::system::error_code error;
        const std::size_t bytes =
            socket.read_some(boost::asio::buffer(space.data(), space.size()), error);
        if (error && !asked && quirks_.dies_of_empty_connection) dead_ = true;
        if (error) return;
        session.received(bytes);
        asked = true;
        continue;
      }
      std::optional<std::string> reply;
      {
        const std::lock_guard lock(mutex_);
        dead_ = dead_ || std::any_of(session.commands().begin(), session.commands().end(),
                                     [this](const Command& one) { return quirks_.dies_of(one); });
        if (dead_) return;
        const bool edited = trades(session.commands());
        service_.answer(session);
        reply = std::exchange(session.output(), {});
        if (edited) reply = edit_(std::move(*reply), ++number_);
      }
      if (!reply) break;
      boost::asio::write(socket, boost::asio::buffer(*reply));
      if (quirks_.closes_after_reply) break;
    }
  }

  // Returns whether the commands count as trading: not the set-up, nor the query after it before
  // any order.
  bool trades(const std::vector<Command>& commands) const {
    return !commands.empty() && !std::holds_alternative<CreateAccount>(commands.front()) &&
           (number_ > 0 || !std::holds_alternative<QueryOrder>(commands.front()));
  }

  const Edit edit_;
  const Quirks quirks_;
  std::counting_semaphore<> places_;
  std::atomic<bool> dead_{false}, ending_{false};
  LocalService service_;
  unsigned number_ = 0;
  std::mutex mutex_;
  LocalPort port_{[this](auto socket) { serve(std::move(socket)); }};
};

}  // namespace exchange::testing
