#pragma once
// The locks that are compared. Each has lock(over), which returns true once the caller holds it,
// and unlock(). A spinlock stops waiting when `over` is set, and returns false: otherwise a run
// with many more threads than CPUs would take minutes to end. The other locks sleep while they
// wait, ignore `over`, and always return true.

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <mutex>

#include "base/ensure.hpp"

namespace exchange::experiments {

inline void cpu_pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

class StdMutex {
 public:
  bool lock(const std::atomic<bool>&) {
    mutex_.lock();
    return true;
  }
  void unlock() { mutex_.unlock(); }

 private:
  std::mutex mutex_;
};

class PthreadMutex {
 public:
  // `ceiling` has an effect only with PTHREAD_PRIO_PROTECT.
  explicit PthreadMutex(int type, int protocol = PTHREAD_PRIO_NONE, int ceiling = 1) {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    ENSURE(pthread_mutexattr_settype(&attributes, type) == 0);
    ENSURE(pthread_mutexattr_setprotocol(&attributes, protocol) == 0);
    if (protocol == PTHREAD_PRIO_PROTECT)
      ENSURE(pthread_mutexattr_setprioceiling(&attributes, ceiling) == 0);
    ENSURE(pthread_mutex_init(&mutex_, &attributes) == 0);
    pthread_mutexattr_destroy(&attributes);
  }
  ~PthreadMutex() { pthread_mutex_destroy(&mutex_); }
  PthreadMutex(const PthreadMutex&) = delete;
  PthreadMutex& operator=(const PthreadMutex&) = delete;

  bool lock(const std::atomic<bool>&) {
    ENSURE(pthread_mutex_lock(&mutex_) == 0);
    return true;
  }
  void unlock() { ENSURE(pthread_mutex_unlock(&mutex_) == 0); }

 private:
  pthread_mutex_t mutex_;
};

// Spins briefly before it sleeps.
class AdaptiveMutex : public PthreadMutex {
 public:
  AdaptiveMutex() : PthreadMutex(PTHREAD_MUTEX_ADAPTIVE_NP) {}
};

// Gives the holder the priority of a waiting thread.
class InheritingMutex : public PthreadMutex {
 public:
  InheritingMutex() : PthreadMutex(PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_INHERIT) {}
};

// The flag of a spinlock.
class Flag {
 public:
  bool try_lock() { return !taken_.exchange(true, std::memory_order_acquire); }
  // Reads the flag before it tries to take it.
  bool look_and_try_lock() { return !taken_.load(std::memory_order_relaxed) && try_lock(); }
  void unlock() { taken_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> taken_{false};
};

// Tries to take the flag again and again: every attempt moves the cache line.
class TestAndSetLock : public Flag {
 public:
  bool lock(const std::atomic<bool>& over) {
    while (!try_lock())
      if (over.load(std::memory_order_relaxed)) return false;
    return true;
  }
};

// Reads before it tries, at increasing intervals.
class BackoffLock : public Flag {
 public:
  bool lock(const std::atomic<bool>& over) {
    for (unsigned pauses = 1; !look_and_try_lock(); pauses = std::min(2 * pauses, pauses_max)) {
      if (over.load(std::memory_order_relaxed)) return false;
      for (unsigned i = 0; i < pauses; ++i) cpu_pause();
    }
    return true;
  }

 private:
  static constexpr unsigned pauses_max = 256;
};

// Reads a hundred times, then yields its CPU between two reads.
class YieldingLock : public Flag {
 public:
  bool lock(const std::atomic<bool>& over) {
    for (unsigned looks = 0; !look_and_try_lock(); ++looks) {
      if (over.load(std::memory_order_relaxed)) return false;
      if (looks < looks_max)
        cpu_pause();
      else
        ::sched_yield();
    }
    return true;
  }

 private:
  static constexpr unsigned looks_max = 100;
};

// First come, first served. A thread that gives up leaves its number unused, and then the lock
// cannot be used any more.
class TicketLock {
 public:
  bool lock(const std::atomic<bool>& over) {
    const unsigned mine = next_.fetch_add(1, std::memory_order_relaxed);
    while (serving_.load(std::memory_order_acquire) != mine) {
      if (over.load(std::memory_order_relaxed)) return false;
      cpu_pause();
    }
    return true;
  }
  void unlock() {
    serving_.store(serving_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }

 private:
  alignas(64) std::atomic<unsigned> next_{0};
  alignas(64) std::atomic<unsigned> serving_{0};
};

}  // namespace exchange::experiments
