#include "studies/experiments/io_files.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <new>
#include <system_error>
#include <tuple>
#include <utility>

#include "studies/experiments/file_access.hpp"

namespace exchange::experiments {
namespace {

constexpr std::size_t alignment = 4'096;
constexpr std::size_t timed_bytes_min = kilobyte;

// Opens a new file twice (the second time with O_DIRECT) and takes its name away.
std::pair<int, int> open_unnamed() {
  std::string path = (std::filesystem::temp_directory_path() / "experiments-XXXXXX").string();
  const int cached = ::mkostemp(path.data(), O_CLOEXEC);
  need(cached >= 0, "mkostemp");
  const int direct = ::open(path.c_str(), O_RDWR | O_DIRECT | O_CLOEXEC);
  const int refused = errno;
  ::unlink(path.c_str());
  errno = refused;
  return {cached, direct};
}

}  // namespace

Buffer::Buffer(std::size_t bytes) : size_(bytes) {
  data_.reset(static_cast<char*>(
      std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment)));
  if (!data_) throw std::bad_alloc();
  std::memset(data_.get(), 0, bytes);
}

void Buffer::Free::operator()(char* data) const { std::free(data); }

void Buffer::fill(std::uint64_t content) {
  std::uint64_t state = content * 0x9E37'79B9'7F4A'7C15 + 1;
  for (std::size_t at = 0; at < size_; at += sizeof state) {
    next_random(state);
    std::memcpy(data() + at, &state, std::min(sizeof state, size_ - at));
  }
}

File::File(const Buffer& content) {
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

File::~File() {
  ::close(cached_);
  if (direct_ >= 0) ::close(direct_);
}

bool File::holds(const Buffer& content) const {
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

void File::sync() const { need(::fdatasync(cached_) == 0, "fdatasync"); }

std::string direct_refusal(std::size_t bytes) {
  if (temporary_file_system() == "tmpfs") return "tmpfs is the page cache, there is no way past it";
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

Stream::Stream(int file, bool writes, Buffer& buffer, std::size_t piece_bytes, unsigned depth)
    : file_(file),
      writes_(writes),
      buffer_(buffer),
      piece_bytes_(piece_bytes),
      operations_(depth) {}

void Stream::begin(IoQueue& queue) {
  for (Operation& operation : operations_) {
    if (!begin_next(operation)) return;
    ++under_way_;
    queue.begin(operation);
  }
}

void Stream::completed(Operation& operation, IoQueue& queue) {
  if (!advance(operation) || begin_next(operation))
    queue.begin(operation);
  else
    --under_way_;
}

void Stream::run() {
  Operation operation;
  while (begin_next(operation)) {
    do operation.result = run_blocking(operation);
    while (!advance(operation));
  }
}

bool Stream::begin_next(Operation& operation) {
  if (next_ >= buffer_.size()) return false;
  operation = {.file = file_,
               .writes = writes_,
               .data = buffer_.data() + next_,
               .size = std::min(piece_bytes_, buffer_.size() - next_),
               .offset = off_t(next_),
               .owner = this};
  next_ += operation.size;
  if (piece_bytes_ >= timed_bytes_min) operation.begin_s = now_s();
  return true;
}

bool Stream::advance(Operation& operation) {
  if (operation.result <= 0)
    throw std::system_error(operation.result < 0 ? int(-operation.result) : EIO,
                            std::generic_category(), writes_ ? "write" : "read");
  operation.data += operation.result;
  operation.size -= std::size_t(operation.result);
  operation.offset += operation.result;
  if (operation.size > 0) return false;
  if (piece_bytes_ >= timed_bytes_min)
    operations_ns.record(std::uint64_t((now_s() - operation.begin_s) * 1e9));
  return true;
}

}  // namespace exchange::experiments
