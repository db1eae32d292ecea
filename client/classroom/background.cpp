#include "client/classroom/background.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <system_error>
#include <thread>
#include <utility>

namespace exchange::classroom {
namespace {

using client::Descriptor;

void check(bool done, const std::string& file) {
  if (!done) throw std::system_error(errno, std::generic_category(), file);
}

Descriptor open_file(const std::string& file, int flags) {
  Descriptor opened(::open(file.c_str(), flags | O_CREAT | O_CLOEXEC, 0600));
  check(bool(opened), file);
  return opened;
}

}  // namespace

Descriptor lock(const std::string& file) {
  Descriptor opened = open_file(file, O_RDWR);
  if (::flock(opened.number(), LOCK_EX | LOCK_NB) == 0) return opened;
  check(errno == EWOULDBLOCK, file);
  return {};
}

std::optional<pid_t> background_process(const std::string& lock_file) {
  const Descriptor file(::open(lock_file.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file || ::flock(file.number(), LOCK_SH | LOCK_NB) == 0) return {};
  char text[32] = {};
  const ssize_t bytes = ::read(file.number(), text, sizeof text - 1);
  return bytes > 0 ? pid_t(std::strtol(text, nullptr, 10)) : 0;
}

std::optional<pid_t> start_in_background(const std::string& lock_file, const std::string& log_file,
                                         const std::function<void()>& work) {
  const Descriptor held = lock(lock_file);
  if (!held) return {};
  check(::ftruncate(held.number(), 0) == 0, lock_file);
  const Descriptor log = open_file(log_file, O_WRONLY | O_APPEND),
                   nothing = open_file("/dev/null", O_RDONLY);
  const pid_t process = ::fork();
  check(process >= 0, "fork");
  if (process > 0) return process;
  const std::string text = std::to_string(::getpid()) + "\n";
  if (::write(held.number(), text.data(), text.size()) != ssize_t(text.size())) ::_exit(1);
  ::setsid();
  ::dup2(nothing.number(), STDIN_FILENO);
  ::dup2(log.number(), STDOUT_FILENO);
  ::dup2(log.number(), STDERR_FILENO);
  constexpr int kept = STDERR_FILENO + 1;  // keeps only the lock of the parent's descriptors
  ::dup2(held.number(), kept);
  ::close_range(kept + 1, ~0u, 0);
  try {
    work();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    ::_exit(1);
  }
  ::_exit(0);
}

bool stop_background(const std::string& lock_file, double timeout_s) {
  const auto end = std::chrono::steady_clock::now() +
                   std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                       std::chrono::duration<double>(timeout_s));
  for (bool asked = false;;) {
    const std::optional<pid_t> process = background_process(lock_file);
    if (!process) return true;
    if (*process > 0 && !std::exchange(asked, true)) ::kill(*process, SIGTERM);
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

}  // namespace exchange::classroom
