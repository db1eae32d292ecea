#include "base/key_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string_view>

#include "base/text.hpp"

namespace exchange {
namespace {

constexpr std::size_t bytes_max = 1'000;

// Reads the file, but at most bytes_max + 1 bytes. Returns the number of bytes, or -1 with errno
// set if the file cannot be read.
ssize_t read_all(int file, std::string& text) {
  text.resize(bytes_max + 1);
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t got = ::read(file, text.data() + size, text.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return -1;
    if (got == 0) break;
    size += std::size_t(got);
  }
  text.resize(size);
  return ssize_t(size);
}

bool is_utf8(std::string_view text) {
  while (!text.empty())
    if (!take_character(text)) return false;
  return true;
}

}  // namespace

KeyFile read_key_file(const std::string& path) {
  const auto fail = [&](const std::string& problem) {
    throw std::invalid_argument("the key file " + path + " " + problem);
  };
  KeyFile read;
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) fail(std::string("cannot be read: ") + std::strerror(errno));
  struct stat info {};
  if (::fstat(file, &info) == 0 && S_ISREG(info.st_mode))
    read.others_can_read = (info.st_mode & S_IROTH) != 0;
  const ssize_t size = read_all(file, read.key);
  const int error = errno;
  ::close(file);
  if (size < 0) fail(std::string("cannot be read: ") + std::strerror(error));
  if (read.key.starts_with(byte_order_mark)) read.key.erase(0, byte_order_mark.size());
  if (read.key.ends_with('\n')) read.key.pop_back();
  if (read.key.ends_with('\r')) read.key.pop_back();
  if (read.key.empty()) fail("is empty");
  if (read.key.front() == ' ' || read.key.back() == ' ')
    fail("has a blank at the beginning or the end of the key: remove it");
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < ' ' || c == 127; };
  if (read.key.size() > bytes_max || std::any_of(read.key.begin(), read.key.end(), is_control))
    fail("is not a key: one line of text");
  if (!is_utf8(read.key)) fail("is not UTF-8");
  return read;
}

}  // namespace exchange
