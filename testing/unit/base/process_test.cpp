// The first steps of every program.

#include "base/process.hpp"

#include "catch.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "support/folder.hpp"

using namespace exchange;
using exchange::testing::TemporaryFolder;

namespace {

// Runs `check` in a child process; returns whether it held there.
template <class Check>
bool holds_in_child(Check check) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(check() ? 0 : 1);
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace

TEST_CASE("a file never gets the descriptor of a standard stream that was closed") {
  const int closed = GENERATE(range(0, 8));  // a bit for each of the three
  CHECK(holds_in_child([&] {
    for (int descriptor = 0; descriptor < 3; ++descriptor)
      if (closed >> descriptor & 1) ::close(descriptor);
    prepare_process("test");
    return ::open("/dev/zero", O_RDWR) > STDERR_FILENO;
  }));
}

TEST_CASE("a write beyond the limit of file sizes fails and does not end the process") {
  const TemporaryFolder folder;
  CHECK(holds_in_child([&] {
    prepare_process("test");
    const rlimit none{0, RLIM_INFINITY};
    setrlimit(RLIMIT_FSIZE, &none);
    const int file = ::open((folder / "x").c_str(), O_WRONLY | O_CREAT, 0600);
    return ::write(file, "x", 1) < 0 && errno == EFBIG;
  }));
}
