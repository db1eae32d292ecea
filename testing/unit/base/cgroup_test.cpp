// Limits of control groups, from files as Linux has them.
#include "base/cgroup.hpp"

#include <filesystem>
#include <fstream>

#include "catch.hpp"
#include "support/folder.hpp"

using namespace exchange;
using namespace exchange::testing;

TEST_CASE("the limits of a process are those of its group and of the groups around it") {
  const TemporaryFolder folder;
  const auto write = [&](const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(folder.path() + path).parent_path());
    std::ofstream(folder.path() + path) << text;
  };
  const auto values = [&](const std::string& groups) {
    write("/groups", groups);
    return cgroup_values("cpu.max", folder.path() + "/groups", folder.path() + "/mount");
  };
  using Values = std::vector<std::string>;
  write("/mount/system.slice/cpu.max", "max 100000\n");
  write("/mount/system.slice/x.service/cpu.max", "150000 100000\n");
  CHECK(values("0::/system.slice/x.service\n") == Values{"150000 100000\n", "max 100000\n"});
  CHECK(values("1:cpu:/elsewhere\n0::/system.slice\n") == Values{"max 100000\n"});
  CHECK(values("0::/../outside\n") == Values{});
  write("/mount/cpu.max", "300000 100000\n");  // as in a container
  CHECK(values("0::/\n") == Values{"300000 100000\n"});
  CHECK(values("") == Values{"300000 100000\n"});
}

TEST_CASE("a quota allows whole CPUs, at least one, and the least quota counts") {
  CHECK(cpus_of_quota({}) == std::nullopt);
  CHECK(cpus_of_quota({"max 100000\n", ""}) == std::nullopt);
  CHECK(cpus_of_quota({"max 100000\n", "400000 100000\n", "250000 100000\n"}) == 2);
  CHECK(cpus_of_quota({"50000 100000\n"}) == 1);
  CHECK(cpus_of_quota({"10 0"}) == std::nullopt);
}
