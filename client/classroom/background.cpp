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

#include "client/connection/socket.hpp"

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

// False: another process has it.
bool lock(const Descriptor& file, const std::string& name) {
  if (::flock(file.number(), LOCK_EX | LOCK_NB) == 0) return true;
  check(errno == EWOULDBLOCK, name);
  return false;
}

}  // namespace

std::optional<pid_t> background_process(const std::string& lock_file) {
  const Descriptor file(::open(lock_file.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file || lock(file, lock_file)) return {};
  char text[32] = {};
  const ssize_t bytes = ::read(file.number(), text, sizeof text - 1);
  const pid_t process = bytes > 0 ? pid_t(std::strtol(text, nullptr, 10)) : 0;
  if (process > 0) return process;
  return {};  // it has just begun
}

std::optional<pid_t> start_in_background(const std::string& lock_file, const std::string& log_file,
                                         const std::function<void()>& work) {
  const Descriptor held = open_file(lock_file, O_RDWR);
  if (!lock(held, lock_file)) return {};
  const Descriptor log = open_file(log_file, O_WRONLY | O_APPEND),
                   nothing = open_file("/dev/null", O_RDONLY);
  const pid_t process = ::fork();
  check(process >= 0, "fork");
  if (process > 0) {
    const std::string text = std::to_string(process) + "\n";
    check(::ftruncate(held.number(), 0) == 0 &&
              ::pwrite(held.number(), text.data(), text.size(), 0) == ssize_t(text.size()),
          lock_file);
    return process;
  }
  ::setsid();
  ::dup2(nothing.number(), STDIN_FILENO);
  ::dup2(log.number(), STDOUT_FILENO);
  ::dup2(log.number(), STDERR_FILENO);
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
  for (bool asked = false;; asked = true) {
    const std::optional<pid_t> process = background_process(lock_file);
    if (!process) return true;
    if (!asked) ::kill(*process, SIGTERM);
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

}  // namespace exchange::classroom
