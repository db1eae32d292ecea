#pragma once
// A monitor as Hoare defined it: signal() passes the monitor at once to the thread that has waited
// longest for that condition, so that this thread finds the condition as the signaller left it. The
// signaller continues when the monitor is next left. Threads enter first come, first served. Any
// thread; each thread has at most one waiting call.

#include <semaphore.h>

#include <deque>
#include <mutex>
#include <vector>

namespace exchange::experiments {

class Semaphore {
 public:
  Semaphore() { sem_init(&semaphore_, 0, 0); }
  ~Semaphore() { sem_destroy(&semaphore_); }
  void post() { sem_post(&semaphore_); }
  void wait() {
    while (sem_wait(&semaphore_) != 0) {  // a signal interrupted the wait
    }
  }

 private:
  sem_t semaphore_;
};

class HoareMonitor {
  using Turn = Semaphore;  // a thread sleeps on it until it owns the monitor
  static Turn& own_turn() {
    static thread_local Turn turn;
    return turn;
  }

 public:
  void enter() {
    Turn* turn = nullptr;
    {
      const std::lock_guard lock(mutex_);
      if (!occupied_) {
        occupied_ = true;
        return;
      }
      turn = &own_turn();
      entering_.push_back(turn);
    }
    turn->wait();
  }
  // Passes the monitor to a signaller, the latest first; else to the thread that came first.
  void leave() {
    const std::lock_guard lock(mutex_);
    pass_on();
  }

  // Use it only inside the monitor.
  class Condition {
   public:
    explicit Condition(HoareMonitor& monitor) : monitor_(monitor) {}
    // Leaves the monitor, and is inside again when it returns.
    void wait() {
      Turn& turn = own_turn();
      waiting_.push_back(&turn);
      monitor_.leave();
      turn.wait();
    }
    // Does nothing if no thread waits. Otherwise another thread has been inside when it returns.
    void signal() {
      if (waiting_.empty()) return;
      Turn& turn = own_turn();
      {
        const std::lock_guard lock(monitor_.mutex_);
        monitor_.signallers_.push_back(&turn);
        pop_front().post();
      }
      turn.wait();
    }
    // signal() and leave() in one call, for a signaller that has nothing left to do and need not
    // come back.
    void signal_and_leave() {
      if (waiting_.empty()) return monitor_.leave();
      pop_front().post();
    }

   private:
    Turn& pop_front() {
      Turn& turn = *waiting_.front();
      waiting_.pop_front();
      return turn;
    }

    HoareMonitor& monitor_;
    std::deque<Turn*> waiting_;  // changed only inside the monitor
  };

 private:
  void pass_on() {
    if (!signallers_.empty()) {
      signallers_.back()->post();
      signallers_.pop_back();
    } else if (!entering_.empty()) {
      entering_.front()->post();
      entering_.pop_front();
    } else {
      occupied_ = false;
    }
  }

  std::mutex mutex_;  // guards the members below; held only briefly
  bool occupied_ = false;
  std::vector<Turn*> signallers_;
  std::deque<Turn*> entering_;
};

}  // namespace exchange::experiments
