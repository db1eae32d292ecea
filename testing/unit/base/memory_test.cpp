// The memory that the process may use: limits of resources and of control groups.

#include "base/memory.hpp"

#include "catch.hpp"

#include <sys/resource.h>

#include <filesystem>
#include <fstream>

#include "base/cgroup.hpp"
#include "support/folder.hpp"

using namespace exchange;
using exchange::testing::TemporaryFolder;

namespace {

void write(const std::string& path, const std::string& text) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path) << text;
}

}  // namespace

TEST_CASE("limits come from the process's control group and from those around it") {
  const TemporaryFolder folder;
  const std::string mount = folder / "mount", process = folder / "cgroup";
  write(process, "4:memory:/outer\n0::/system.slice/exchange.service\n");
  write(mount + "/memory.max", "max\n");
  write(mount + "/system.slice/memory.max", "2\n");
  write(mount + "/system.slice/exchange.service/memory.max", "1\n");
  write(mount + "/outer/memory.limit_in_bytes", "3\n");
  using Texts = std::vector<std::string>;
  CHECK(cgroup_values("memory.max", process, mount) == Texts{"1\n", "2\n", "max\n"});
  CHECK(cgroup_values("memory.limit_in_bytes", process, mount, "memory") == Texts{"3\n"});
  CHECK(cgroup_values("cpu.max", process, mount).empty());
  CHECK(cgroup_values("memory.max", folder / "none", mount) == Texts{"max\n"});
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
