#include "base/process.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace exchange {
namespace {

const char* program_name = nullptr;

void check_output() {
  const bool had_failed = std::ferror(stdout) != 0;
  errno = 0;
  // An earlier write failed, but its cause is lost. If the cause lasts, writing another byte shows
  // it.
  if (std::fflush(stdout) == 0) {
    if (!had_failed) return;
    static_cast<void>(::write(STDOUT_FILENO, "\n", 1) < 0);
  }
  const char* const cause = errno != 0 ? std::strerror(errno) : "a part of the output is lost";
  std::fprintf(stderr, "%s: cannot write to the standard output: %s\n", program_name, cause);
  ::_exit(1);
}

}  // namespace

void prepare_process(const char* program) {
  int file = 0;
  while (file <= STDERR_FILENO) {
    file = ::open("/dev/null", O_RDWR);  // the lowest descriptor that is free
    if (file < 0) break;
  }
  if (file >= 0) ::close(file);
  std::signal(SIGXFSZ, SIG_IGN);
  program_name = program;
  std::atexit(check_output);
}

}  // namespace exchange
