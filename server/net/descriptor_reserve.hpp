#pragma once
// DescriptorReserve keeps some file descriptors open, so that a port that has run out of them can
// still accept a connection, to serve it in place of another or to refuse it in words.
// Thread: one at a time.

#include <fcntl.h>
#include <unistd.h>

#include <cstddef>
#include <vector>

namespace exchange {

class DescriptorReserve {
 public:
  DescriptorReserve() { refill(); }
  ~DescriptorReserve() { release(); }
  DescriptorReserve(const DescriptorReserve&) = delete;

  bool empty() const { return descriptors_.empty(); }
  // False where the process has no descriptors to spare.
  bool refill() {
    descriptors_.reserve(descriptors);
    while (descriptors_.size() < descriptors) {
      const int descriptor = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
      if (descriptor < 0) return false;
      descriptors_.push_back(descriptor);
    }
    return true;
  }
  void release() {
    for (const int descriptor : descriptors_) ::close(descriptor);
    descriptors_.clear();
  }

 private:
  static constexpr std::size_t descriptors = 8;
  std::vector<int> descriptors_;
};

}  // namespace exchange
