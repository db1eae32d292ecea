#pragma once
// Ways to read and write files from one thread: calls that block, POSIX aio (threads of the C
// library), io_uring (the kernel). Thread: each queue belongs to one thread; what other threads it
// has is its own affair.

#include <sys/types.h>

#include <cstddef>
#include <memory>
#include <vector>

namespace exchange::experiments {

struct Operation {
  int file = -1;
  bool writes = false;
  char* data = nullptr;
  std::size_t size = 0;
  off_t offset = 0;
  void* owner = nullptr;
  double begin_s = 0;  // of the caller, to measure how long it took
  ssize_t result = 0;  // bytes, which may be fewer than asked for, or -errno
};

class IoQueue {
 public:
  virtual ~IoQueue() = default;
  // The operation must not move until it is completed.
  virtual void begin(Operation& operation) = 0;
  // Adds what is completed; if nothing is, and with `wait`, waits for one that was begun.
  virtual void completed(bool wait, std::vector<Operation*>& done) = 0;
};

// One read or write that blocks.
ssize_t run_blocking(const Operation& operation);

std::unique_ptr<IoQueue> make_aio_queue();
// Throws std::system_error with the reason if the kernel refuses io_uring.
std::unique_ptr<IoQueue> make_uring_queue(unsigned depth);

}  // namespace exchange::experiments
