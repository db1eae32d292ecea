#pragma once
// Ways in which one thread hands its turn to another and waits for its own. Side 0 passes odd
// numbers to side 1, which passes even ones back: pass(to, number), await(me) -> the number that
// arrived. A side awaits only after it passed, or first of all (side 1). Thread: each side on a
// thread (or process, or fiber) of its own.

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <mutex>

#include "studies/experiments/lab.hpp"

namespace exchange::experiments {

inline bool is_turn_of(unsigned side, std::uint32_t turn) { return turn % 2 == side; }

enum class Notify { under_the_lock, after_it };

// With std:: or boost::fibers:: types.
template <class Mutex, class Condition, Notify notify>
class ConditionBaton {
 public:
  void pass(unsigned, std::uint32_t turn) {
    {
      const std::lock_guard lock(mutex_);
      turn_ = turn;
      if (notify == Notify::under_the_lock) changed_.notify_one();
    }
    if (notify == Notify::after_it) changed_.notify_one();
  }
  std::uint32_t await(unsigned me) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return is_turn_of(me, turn_); });
    return turn_;
  }

 private:
  Mutex mutex_;
  Condition changed_;
  std::uint32_t turn_ = 0;
};

// The standard library may try for a while before it sleeps.
class AtomicWaitBaton {
 public:
  void pass(unsigned, std::uint32_t turn) {
    turn_ = turn;
    turn_.notify_one();
  }
  std::uint32_t await(unsigned me) {
    for (;;) {
      const std::uint32_t turn = turn_;
      if (is_turn_of(me, turn)) return turn;
      turn_.wait(turn);
    }
  }

 private:
  std::atomic<std::uint32_t> turn_ = 0;
};

class FutexBaton {
 public:
  void pass(unsigned, std::uint32_t turn) {
    turn_ = turn;
    ::syscall(SYS_futex, &turn_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
  }
  std::uint32_t await(unsigned me) {
    for (;;) {
      const std::uint32_t turn = turn_;
      if (is_turn_of(me, turn)) return turn;
      ::syscall(SYS_futex, &turn_, FUTEX_WAIT_PRIVATE, turn, nullptr, nullptr, 0);
    }
  }

 private:
  std::atomic<std::uint32_t> turn_ = 0;
  static_assert(sizeof turn_ == 4);
};

class YieldBaton {
 public:
  void pass(unsigned, std::uint32_t turn) { turn_.store(turn, std::memory_order_release); }
  std::uint32_t await(unsigned me) {
    for (;;) {
      const std::uint32_t turn = turn_.load(std::memory_order_acquire);
      if (is_turn_of(me, turn)) return turn;
      ::sched_yield();
    }
  }

 private:
  std::atomic<std::uint32_t> turn_ = 0;
};

// Turns travel through descriptors: each side reads from one and writes to one.
class DescriptorBaton {
 public:
  DescriptorBaton() = default;
  DescriptorBaton(const DescriptorBaton&) = delete;
  ~DescriptorBaton() {
    for (unsigned side = 0; side < 2; ++side) {
      ::close(read_by_[side]);
      if (written_to_[side] != read_by_[side] && written_to_[side] != read_by_[1 - side])
        ::close(written_to_[side]);
    }
  }
  void pass(unsigned to, std::uint32_t turn) {
    const std::uint64_t bytes = turn;
    need(::write(written_to_[to], &bytes, sizeof bytes) == sizeof bytes, "write");
  }
  std::uint32_t await(unsigned me) {
    std::uint64_t bytes = 0;
    need(::read(read_by_[me], &bytes, sizeof bytes) == sizeof bytes, "read");
    return std::uint32_t(bytes);
  }

 protected:
  int read_by_[2] = {-1, -1}, written_to_[2] = {-1, -1};  // of the side that it goes to
};

class PipeBaton : public DescriptorBaton {
 public:
  PipeBaton() {
    for (unsigned side = 0; side < 2; ++side) {
      int ends[2];
      need(::pipe2(ends, O_CLOEXEC) == 0, "pipe");
      read_by_[side] = ends[0];
      written_to_[side] = ends[1];
    }
  }
};

class EventfdBaton : public DescriptorBaton {
 public:
  EventfdBaton() {
    for (unsigned side = 0; side < 2; ++side) {
      need((read_by_[side] = ::eventfd(0, EFD_CLOEXEC)) >= 0, "eventfd");
      written_to_[side] = read_by_[side];
    }
  }
};

class TcpBaton : public DescriptorBaton {
 public:
  TcpBaton() {
    const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    sockaddr* const any = reinterpret_cast<sockaddr*>(&address);
    need(::bind(listener, any, size) == 0 && ::listen(listener, 1) == 0 &&
             ::getsockname(listener, any, &size) == 0,
         "listen");
    read_by_[0] = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    need(::connect(read_by_[0], any, size) == 0, "connect");
    need((read_by_[1] = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC)) >= 0, "accept");
    ::close(listener);
    const int yes = 1;
    for (unsigned side = 0; side < 2; ++side) {
      need(::setsockopt(read_by_[side], IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes) == 0,
           "TCP_NODELAY");
      written_to_[side] = read_by_[1 - side];
    }
  }
};

}  // namespace exchange::experiments
