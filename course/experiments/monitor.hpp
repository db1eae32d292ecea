#pragma once
// A monitor as Hoare defined it: signal() hands the monitor over to the thread that has waited
// longest for that condition, at once, so that it finds the condition as the signaller left it. The
// signaller goes on when the monitor is next left. Threads enter first come, first served. Any
// thread; of each thread at most one call waits.

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
    while (sem_wait(&semaphore_) != 0) {  // a signal came in between
    }
  }

 private:
  sem_t semaphore_;
};

class HoareMonitor {
  using Turn = Semaphore;  // what a thread sleeps on until the monitor is its own
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
  // Hands over to a signaller, the latest first; else to the thread that came first.
  void leave() {
    const std::lock_guard lock(mutex_);
    pass_on();
  }

  // Inside the monitor only.
  class Condition {
   public:
    explicit Condition(HoareMonitor& monitor) : monitor_(monitor) {}
    // Leaves the monitor, and is inside again when this returns.
    void wait() {
      Turn& turn = own_turn();
      waiting_.push_back(&turn);
      monitor_.leave();
      turn.wait();
    }
    // Does nothing if no thread waits. Else another thread has been inside when this returns.
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
    // signal() and leave() in one, if nothing remains to be done: the signaller need not come
    // back.
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
    std::deque<Turn*> waiting_;  // changed inside only
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

  std::mutex mutex_;  // of what follows; held for moments
  bool occupied_ = false;
  std::vector<Turn*> signallers_;
  std::deque<Turn*> entering_;
};

}  // namespace exchange::experiments
