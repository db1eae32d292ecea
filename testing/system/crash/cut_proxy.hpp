#pragma once
// A TCP proxy in front of a cluster's socket in the file system, for a server that believes its
// database to be on a network. It cuts that network during the commit of a batch: before the
// statement reaches PostgreSQL, or after, so that only its answer is lost. Threads: one for each
// connection and direction. Any other thread may call cut() and mend().

#include <atomic>
#include <boost/asio/local/stream_protocol.hpp>
#include <condition_variable>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "support/local_port.hpp"

namespace exchange::testing {

class CutProxy {
 public:
  enum class When { before_commit, after_commit };  // without, or with, the append in the database
  enum class How {
    reset,  // both ends notice at once
    // PostgreSQL sees the end, the server does not, until mend(); then a reset
    half_open,
    // neither side sees anything, and new connections get no answer, until mend(); then a reset
    silent,
  };

  explicit CutProxy(std::string socket_path) : socket_path_(std::move(socket_path)) {}
  ~CutProxy() { mend(); }

  std::string address() const { return port_.address(); }
  // Cuts at the next append.
  void cut(When when, How how) {
    plan_ = Plan{when, how};
    was_cut_ = false;
    armed_ = true;
  }
  // Returns whether an append has met the cut.
  bool was_cut() const { return was_cut_; }
  // Lets everything pass again.
  void mend() {
    const std::lock_guard lock(mutex_);
    armed_ = broken_ = false;
    mended_.notify_all();
  }

 private:
  struct Plan {
    When when;
    How how;
  };
  // The sockets of a connection.
  struct Pair {
    int server, database;
    std::atomic<How> how{How::reset};  // it was cut
    std::atomic<bool> swallow{false};  // drops the answers of the database
    std::atomic<bool> closed{false};
    void end() const {
      ::shutdown(database, SHUT_RDWR);
      ::shutdown(server, SHUT_RDWR);
    }
  };
  // The name of the server's prepared statement in the message that runs it.
  static constexpr std::string_view append_statement{"\0append\0", 8};

  void serve(LocalPort::tcp::socket server) {
    if (broken_) {
      if (plan_.load().how == How::silent) wait_for_mending();
      return;
    }
    boost::asio::io_context context;
    boost::asio::local::stream_protocol::socket database(context);
    database.connect(socket_path_);
    Pair pair{server.native_handle(), database.native_handle()};
    std::thread back([&] { backward(pair); });
    forward(pair);
    back.join();
  }

  void forward(Pair& pair) {
    char bytes[65536];
    for (ssize_t size; (size = ::recv(pair.server, bytes, sizeof bytes, 0)) > 0;) {
      const std::string_view message(bytes, std::size_t(size));
      if (armed_ && message.find(append_statement) != message.npos && armed_.exchange(false)) {
        const Plan plan = plan_;
        pair.how = plan.how;
        broken_ = plan.how != How::reset;
        if (plan.when == When::before_commit) return cut_here(pair);
        pair.swallow = true;  // backward() cuts when the answer has come
      }
      if (!send_all(pair.database, message)) break;
    }
    pair.end();
  }

  void backward(Pair& pair) {
    char bytes[65536];
    for (ssize_t size; (size = ::recv(pair.database, bytes, sizeof bytes, 0)) > 0;) {
      if (pair.swallow) return cut_here(pair);
      if (!send_all(pair.server, {bytes, std::size_t(size)})) break;
    }
    if (!pair.closed) pair.end();  // else the server must not notice it yet
  }

  void cut_here(Pair& pair) {
    pair.closed = true;
    was_cut_ = true;
    if (pair.how == How::half_open) ::shutdown(pair.database, SHUT_RDWR);
    if (pair.how != How::reset) wait_for_mending();
    // If data is unread, a shutdown then sends a reset; a reader gets an error either way.
    const linger at_once{1, 0};
    ::setsockopt(pair.server, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    pair.end();
  }

  void wait_for_mending() {
    std::unique_lock lock(mutex_);
    mended_.wait(lock, [this] { return !broken_; });
  }

  static bool send_all(int socket, std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(std::size_t(sent));
    }
    return true;
  }

  const std::string socket_path_;
  std::mutex mutex_;
  std::condition_variable mended_;
  std::atomic<bool> armed_{false}, was_cut_{false}, broken_{false};
  std::atomic<Plan> plan_{};  // of the newest cut
  LocalPort port_{[this](auto socket) { serve(std::move(socket)); }};
};

}  // namespace exchange::testing
