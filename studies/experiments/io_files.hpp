#pragma once
// Files to read and write, each with a content of its own, and streams of operations over them. The
// files have no name by the time that they are used, so nothing can be left behind.
// Thread: one at a time; a stream is driven by one thread.

#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <string>

#include "base/histogram.hpp"
#include "studies/experiments/io_queues.hpp"

namespace exchange::experiments {

constexpr std::size_t kilobyte = 1'024;

// Aligned as O_DIRECT wants it.
class Buffer {
 public:
  explicit Buffer(std::size_t bytes);
  char* data() const { return data_.get(); }
  std::size_t size() const { return size_; }
  // The content that belongs to `content` and no other number.
  void fill(std::uint64_t content);

 private:
  struct Free {
    void operator()(char* data) const;
  };
  std::unique_ptr<char, Free> data_;
  std::size_t size_;
};

class File {
 public:
  // A new file in the temporary folder, filled, and on the disk.
  explicit File(const Buffer& content);
  File(const File&) = delete;
  ~File();

  int cached() const { return cached_; }
  int direct() const { return direct_; }  // with O_DIRECT; -1 if that is refused
  // Through the page cache, which keeps it.
  bool holds(const Buffer& content) const;
  void sync() const;

 private:
  int cached_ = -1, direct_ = -1;
};

// Empty, or why O_DIRECT cannot write so many bytes at a time.
std::string direct_refusal(std::size_t bytes);
// Reads or writes one file from its beginning in pieces of one size, so many at a time.
class Stream {
 public:
  Stream(int file, bool writes, Buffer& buffer, std::size_t piece_bytes, unsigned depth);

  void begin(IoQueue& queue);
  // One of its operations is completed. Throws if it failed.
  void completed(Operation& operation, IoQueue& queue);
  bool done() const { return under_way_ == 0; }  // after begin()
  // All of it with blocking calls.
  void run();

  Histogram operations_ns;  // only of pieces that take longer than reading the clock

 private:
  bool begin_next(Operation& operation);
  bool advance(Operation& operation);  // whether a piece is complete

  const int file_;
  const bool writes_;
  Buffer& buffer_;
  const std::size_t piece_bytes_;
  std::size_t next_ = 0;
  unsigned under_way_ = 0;
  std::deque<Operation> operations_;
};

}  // namespace exchange::experiments
