// The process: its first steps, and the limits of resources and of control groups under which it
// runs, from files as Linux has them.

#include "base/process.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "catch.hpp"
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

TEST_CASE("the limits of a process are those of its control group and of the groups around it") {
  const TemporaryFolder folder;
  const std::string mount = folder / "mount", process = folder / "cgroup";
  const auto write = [](const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path) << text;
  };
  using Texts = std::vector<std::string>;
  write(mount + "/memory.max", "max\n");
  write(mount + "/system.slice/memory.max", "2\n");
  write(mount + "/system.slice/exchange.service/memory.max", "1\n");
  write(mount + "/outer/memory.limit_in_bytes", "3\n");
  write(process, "4:memory:/outer\n0::/system.slice/exchange.service\n");
  CHECK(cgroup_values("memory.max", process, mount) == Texts{"1\n", "2\n", "max\n"});
  CHECK(cgroup_values("memory.limit_in_bytes", process, mount, "memory") == Texts{"3\n"});
  CHECK(cgroup_values("cpu.max", process, mount).empty());
  CHECK(cgroup_values("memory.max", folder / "none", mount) == Texts{"max\n"});
  write(process, "1:cpu:/elsewhere\n0::/system.slice\n");
  CHECK(cgroup_values("memory.max", process, mount) == Texts{"2\n", "max\n"});
  for (const char* groups : {"0::/../outside\n", "0::/\n", ""}) {  // as in a container
    write(process, groups);
    CHECK(cgroup_values("memory.max", process, mount) == Texts{"max\n"});
  }
}

TEST_CASE("a quota allows whole CPUs, at least one, and the least quota counts") {
  CHECK(cpus_of_quota({}) == std::nullopt);
  CHECK(cpus_of_quota({"max 100000\n", ""}) == std::nullopt);
  CHECK(cpus_of_quota({"max 100000\n", "400000 100000\n", "250000 100000\n"}) == 2);
  CHECK(cpus_of_quota({"50000 100000\n"}) == 1);
  CHECK(cpus_of_quota({"10 0"}) == std::nullopt);
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
TEST_CASE("the address space is not limited under sanitizers") {
  WARN("skipped: sanitizers map memory of their own at any time");
}
#else
TEST_CASE("the memory of the process is that of the machine, or half of its address space") {
  const std::uint64_t before = usable_memory();
  CHECK(before > (64u << 20));
  rlimit all{};
  getrlimit(RLIMIT_AS, &all);
  const rlimit little{before, all.rlim_max};
  setrlimit(RLIMIT_AS, &little);
  const std::uint64_t limited = usable_memory();
  setrlimit(RLIMIT_AS, &all);
  CHECK(limited == before / 2);
}
#endif
