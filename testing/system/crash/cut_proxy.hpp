#pragma once
// A TCP proxy in front of a cluster's socket in the file system, for a server that believes its
// database to be on a network. It cuts that network during the commit of a batch: before the
// statement reaches PostgreSQL, or after, so that only its answer is lost. Threads: one accepts,
// and one serves each connection and direction. Any other thread may call cut() and mend().

#include <atomic>
#include <condition_variable>
#include <list>
#include <mutex>
#include <string>
#include <thread>

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

  explicit CutProxy(std::string socket_path);
  ~CutProxy();
  CutProxy(const CutProxy&) = delete;
  CutProxy& operator=(const CutProxy&) = delete;

  unsigned port() const { return port_; }
  // Cuts at the next append.
  void cut(When when, How how);
  // Returns whether an append has met the cut.
  bool was_cut() const { return was_cut_; }
  // Lets everything pass again.
  void mend();

 private:
  struct Plan {
    When when;
    How how;
  };
  struct Pair {
    int server, database;
    std::atomic<How> how{How::reset};  // it was cut
    std::atomic<bool> swallow{false};  // drops the answers of the database
    std::atomic<bool> closed{false};
    std::thread forth, back;
  };

  void accept();
  void forward(Pair& pair);
  void backward(Pair& pair);
  void cut_here(Pair& pair);
  void wait_for_mending();
  static void reset(int socket);

  const std::string socket_path_;
  int listener_ = -1;
  unsigned port_ = 0;
  std::mutex mutex_;
  std::condition_variable mended_;
  std::list<Pair> pairs_;
  std::atomic<bool> armed_{false}, was_cut_{false}, broken_{false}, stopping_{false};
  std::atomic<Plan> plan_{};  // of the newest cut
  std::thread thread_;
};

}  // namespace exchange::testing
