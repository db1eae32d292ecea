#pragma once
// Files to read and write, each with its own content; streams of operations over them; and ways to
// run these from one thread: blocking calls, POSIX aio (threads of the C library), io_uring (the
// kernel). The files are unlinked before they are used, so nothing can be left behind. Owner: the
// io experiment. Thread: one at a time; a stream and a queue belong to one thread.

#include <aio.h>
#include <fcntl.h>
#include <unistd.h>

#ifdef EXPERIMENTS_WITH_URING
#include <liburing.h>
#endif

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include "course/experiments/lab.hpp"

namespace exchange::experiments {

constexpr std::size_t kilobyte = 1'024;

struct Operation {
  int file = -1;
  bool writes = false;
  char* data = nullptr;
  std::size_t size = 0;
  off_t offset = 0;
  void* owner = nullptr;
  ssize_t result = 0;  // bytes, possibly fewer than asked for, or -errno
};

// One blocking read or write.
inline ssize_t run_blocking(const Operation& operation) {
  for (;;) {
    const ssize_t result =
        operation.writes
            ? ::pwrite(operation.file, operation.data, operation.size, operation.offset)
            : ::pread(operation.file, operation.data, operation.size, operation.offset);
    if (result >= 0) return result;
    if (errno != EINTR) return -errno;
  }
}

class IoQueue {
 public:
  virtual ~IoQueue() = default;
  // The operation must not move until it is completed.
  virtual void begin(Operation& operation) = 0;
  // Adds the completed operations. If there are none, and with `wait`, waits for one in flight.
  virtual void completed(bool wait, std::vector<Operation*>& done) = 0;
};

class AioQueue final : public IoQueue {
 public:
  AioQueue() = default;
  AioQueue(const AioQueue&) = delete;
  ~AioQueue() override {  // the library's threads must not outlive the memory that they write to
    std::vector<Operation*> done;
    while (!under_way_.empty()) completed(true, done);
  }
  void begin(Operation& operation) override {
    auto control = std::make_unique<Control>();
    control->operation = &operation;
    control->block.aio_fildes = operation.file;
    control->block.aio_buf = operation.data;
    control->block.aio_nbytes = operation.size;
    control->block.aio_offset = operation.offset;
    control->block.aio_sigevent.sigev_notify = SIGEV_NONE;
    const int refused =
        operation.writes ? ::aio_write(&control->block) : ::aio_read(&control->block);
    if (refused != 0)
      throw std::system_error(errno, std::generic_category(),
                              operation.writes ? "aio_write" : "aio_read");
    under_way_.push_back(std::move(control));
  }
  void completed(bool wait, std::vector<Operation*>& done) override {
    const std::size_t before = done.size();
    while (take_completed(done), wait && done.size() == before && !under_way_.empty()) {
      waited_for_.clear();
      for (const auto& control : under_way_) waited_for_.push_back(&control->block);
      ::aio_suspend(waited_for_.data(), int(waited_for_.size()), nullptr);
    }
  }

 private:
  struct Control {
    aiocb block{};
    Operation* operation = nullptr;
  };
  void take_completed(std::vector<Operation*>& done) {
    std::erase_if(under_way_, [&](const std::unique_ptr<Control>& control) {
      const int error = ::aio_error(&control->block);
      if (error == EINPROGRESS) return false;
      const ssize_t bytes = ::aio_return(&control->block);
      control->operation->result = error == 0 ? bytes : -error;
      done.push_back(control->operation);
      return true;
    });
  }

  std::vector<std::unique_ptr<Control>> under_way_;
  std::vector<const aiocb*> waited_for_;
};

#ifdef EXPERIMENTS_WITH_URING
class UringQueue final : public IoQueue {
 public:
  UringQueue() {
    const int error = ::io_uring_queue_init(entries, &ring_, 0);
    if (error < 0) throw std::system_error(-error, std::generic_category(), "io_uring_setup");
  }
  UringQueue(const UringQueue&) = delete;
  ~UringQueue() override {
    std::vector<Operation*> done;
    while (under_way_ > 0) completed(true, done);
    ::io_uring_queue_exit(&ring_);
  }
  void begin(Operation& operation) override {
    io_uring_sqe* entry = ::io_uring_get_sqe(&ring_);
    if (entry == nullptr) {
      enter(0);
      entry = ::io_uring_get_sqe(&ring_);
    }
    if (entry == nullptr) throw std::runtime_error("io_uring takes no more");
    const auto size = unsigned(operation.size);
    const auto offset = std::uint64_t(operation.offset);
    if (operation.writes)
      ::io_uring_prep_write(entry, operation.file, operation.data, size, offset);
    else
      ::io_uring_prep_read(entry, operation.file, operation.data, size, offset);
    ::io_uring_sqe_set_data(entry, &operation);
    ++under_way_;
  }
  // Passes all operations begun since the last time to the kernel in one call.
  void completed(bool wait, std::vector<Operation*>& done) override {
    const bool must_wait = wait && under_way_ > 0 && ::io_uring_cq_ready(&ring_) == 0;
    if (must_wait || ::io_uring_sq_ready(&ring_) > 0) enter(must_wait ? 1 : 0);
    unsigned head = 0, taken = 0;
    io_uring_cqe* completion = nullptr;
    io_uring_for_each_cqe(&ring_, head, completion) {
      auto* operation = static_cast<Operation*>(::io_uring_cqe_get_data(completion));
      operation->result = completion->res;
      done.push_back(operation);
      ++taken;
    }
    ::io_uring_cq_advance(&ring_, taken);
    under_way_ -= taken;
  }

 private:
  void enter(unsigned wait_for) {
    int result = 0;
    do result = ::io_uring_submit_and_wait(&ring_, wait_for);
    while (result == -EINTR);
    if (result < 0) throw std::system_error(-result, std::generic_category(), "io_uring_enter");
  }

  static constexpr unsigned entries = 64;
  io_uring ring_{};
  unsigned under_way_ = 0;
};
#endif

inline std::unique_ptr<IoQueue> make_aio_queue() { return std::make_unique<AioQueue>(); }
// Throws std::system_error with the reason if the kernel refuses io_uring.
inline std::unique_ptr<IoQueue> make_uring_queue() {
#ifdef EXPERIMENTS_WITH_URING
  return std::make_unique<UringQueue>();
#else
  throw std::system_error(ENOSYS, std::generic_category(), "built without liburing");
#endif
}

// Aligned as O_DIRECT requires.
class Buffer {
 public:
  explicit Buffer(std::size_t bytes) : size_(bytes) {
    data_.reset(static_cast<char*>(
        std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment)));
    if (!data_) throw std::bad_alloc();
    std::memset(data_.get(), 0, bytes);
  }
  char* data() const { return data_.get(); }
  std::size_t size() const { return size_; }
  // Fills the buffer with bytes that only this number `content` produces.
  void fill(std::uint64_t content) {
    std::uint64_t state = content * 0x9E37'79B9'7F4A'7C15 + 1;
    for (std::size_t at = 0; at < size_; at += sizeof state) {
      next_random(state);
      std::memcpy(data() + at, &state, std::min(sizeof state, size_ - at));
    }
  }

 private:
  static constexpr std::size_t alignment = 4'096;
  struct Free {
    void operator()(char* data) const { std::free(data); }
  };
  std::unique_ptr<char, Free> data_;
  std::size_t size_;
};

// Creates a file in the temporary folder, opens it twice (the second time with O_DIRECT) and
// unlinks it. The second descriptor is -1, with errno, if O_DIRECT is refused.
inline std::pair<int, int> open_unnamed() {
  std::string path = (std::filesystem::temp_directory_path() / "experiments-XXXXXX").string();
  const int cached = ::mkostemp(path.data(), O_CLOEXEC);
  need(cached >= 0, "mkostemp");
  const int direct = ::open(path.c_str(), O_RDWR | O_DIRECT | O_CLOEXEC);
  const int refused = errno;
  ::unlink(path.c_str());
  errno = refused;
  return {cached, direct};
}

class File {
 public:
  // Creates a file, fills it and syncs it to the disk.
  explicit File(const Buffer& content) {
    std::tie(cached_, direct_) = open_unnamed();
    std::size_t written = 0;
    while (written < content.size()) {
      const ssize_t bytes =
          ::pwrite(cached_, content.data() + written, content.size() - written, off_t(written));
      need(bytes > 0, "pwrite");
      written += std::size_t(bytes);
    }
    sync();
  }
  File(const File&) = delete;
  ~File() {
    ::close(cached_);
    if (direct_ >= 0) ::close(direct_);
  }

  int direct() const { return direct_; }  // with O_DIRECT; -1 if it is refused
  // Compares the content through the page cache, which keeps it.
  bool holds(const Buffer& content) const {
    std::vector<char> piece(1'024 * kilobyte);
    for (std::size_t at = 0; at < content.size();) {
      const ssize_t bytes =
          ::pread(cached_, piece.data(), std::min(piece.size(), content.size() - at), off_t(at));
      if (bytes <= 0 || std::memcmp(piece.data(), content.data() + at, std::size_t(bytes)) != 0)
        return false;
      at += std::size_t(bytes);
    }
    return true;
  }
  void sync() const { need(::fdatasync(cached_) == 0, "fdatasync"); }

 private:
  int cached_ = -1, direct_ = -1;
};

// Returns why O_DIRECT cannot write this many bytes at a time; empty if it can.
inline std::string direct_refusal(std::size_t bytes) {
  if (temporary_file_system() == "tmpfs")
    return "tmpfs is the page cache, there is no way past it: set TMPDIR to a folder on a disk";
  const auto [cached, direct] = open_unnamed();
  const int refused = errno;
  ::close(cached);
  if (direct < 0) return std::string("open with O_DIRECT: ") + std::strerror(refused);
  const Buffer data(bytes);
  const ssize_t written = ::pwrite(direct, data.data(), bytes, 0);
  const std::string why = written < 0 ? std::string("write: ") + std::strerror(errno) : "";
  ::close(direct);
  return why;
}

// Reads or writes one file from its beginning in pieces of one size, one after the other.
class Stream {
 public:
  Stream(int file, bool writes, Buffer& buffer, std::size_t piece_bytes)
      : file_(file), writes_(writes), buffer_(buffer), piece_bytes_(piece_bytes) {
    begin_next();
  }

  void begin(IoQueue& queue) { queue.begin(operation_); }
  // Call it when its operation is completed. Throws if the operation failed.
  void completed(IoQueue& queue) {
    advance();
    if (!done()) queue.begin(operation_);
  }
  bool done() const { return operation_.size == 0; }
  // Runs the whole stream with blocking calls.
  void run() {
    while (!done()) {
      operation_.result = run_blocking(operation_);
      advance();
    }
  }

 private:
  void begin_next() {
    operation_ = {.file = file_,
                  .writes = writes_,
                  .data = buffer_.data() + next_,
                  .size = std::min(piece_bytes_, buffer_.size() - next_),
                  .offset = off_t(next_),
                  .owner = this};
    next_ += operation_.size;
  }
  void advance() {
    if (operation_.result <= 0)
      throw std::system_error(operation_.result < 0 ? int(-operation_.result) : EIO,
                              std::generic_category(), writes_ ? "write" : "read");
    operation_.data += operation_.result;
    operation_.size -= std::size_t(operation_.result);
    operation_.offset += operation_.result;
    if (operation_.size == 0) begin_next();
  }

  const int file_;
  const bool writes_;
  Buffer& buffer_;
  const std::size_t piece_bytes_;
  std::size_t next_ = 0;
  Operation operation_;
};

}  // namespace exchange::experiments
