#include "studies/experiments/io_queues.hpp"

#include <aio.h>
#include <unistd.h>

#ifdef EXPERIMENTS_WITH_URING
#include <liburing.h>
#endif

#include <algorithm>
#include <cerrno>
#include <stdexcept>
#include <system_error>

namespace exchange::experiments {

ssize_t run_blocking(const Operation& operation) {
  for (;;) {
    const ssize_t result =
        operation.writes
            ? ::pwrite(operation.file, operation.data, operation.size, operation.offset)
            : ::pread(operation.file, operation.data, operation.size, operation.offset);
    if (result >= 0) return result;
    if (errno != EINTR) return -errno;
  }
}

namespace {

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
  explicit UringQueue(unsigned depth) {
    const int error = ::io_uring_queue_init(depth, &ring_, 0);
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
  // All that was begun since the last time goes to the kernel in one call.
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

  io_uring ring_{};
  unsigned under_way_ = 0;
};
#endif

}  // namespace

std::unique_ptr<IoQueue> make_aio_queue() { return std::make_unique<AioQueue>(); }
std::unique_ptr<IoQueue> make_uring_queue([[maybe_unused]] unsigned depth) {
#ifdef EXPERIMENTS_WITH_URING
  return std::make_unique<UringQueue>(depth);
#else
  throw std::system_error(ENOSYS, std::generic_category(), "built without liburing");
#endif
}

}  // namespace exchange::experiments
