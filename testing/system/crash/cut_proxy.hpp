#pragma once
// A TCP proxy in front of a cluster's socket in the file system, for a server that believes its
// database to be on a network. It cuts that network amid the commit of a batch: before the
// statement reaches PostgreSQL, or after, so that only its answer is lost. Threads: one that
// accepts, and one for each connection and direction. cut() and mend() from any other.

#include <atomic>
#include <condition_variable>
#include <list>
#include <mutex>
#include <string>
#include <thread>

namespace exchange::testing {

class CutProxy {
 public:
  enum class When { before_commit, after_commit };  // the database gets the append, or not
  enum class How {
    reset,  // both ends notice at once
    // PostgreSQL sees the end, the server nothing, until the network is mended; then a reset
    half_open,
    // neither sees anything, and new connections get no answer, until the network is mended; then a
    // reset
    silent,
  };

  explicit CutProxy(std::string socket_path);
  ~CutProxy();
  CutProxy(const CutProxy&) = delete;
  CutProxy& operator=(const CutProxy&) = delete;

  unsigned port() const { return port_; }
  // Cuts at the next append.
  void cut(When when, How how);
  // Whether an append has met the cut.
  bool was_cut() const { return was_cut_; }
  // From now on all passes again.
  void mend();

 private:
  struct Plan {
    When when;
    How how;
  };
  struct Pair {
    int server, database;
    std::atomic<How> how{How::reset};  // it was cut
    std::atomic<bool> swallow{false};  // answers of the database
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
