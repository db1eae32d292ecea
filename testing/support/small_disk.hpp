#pragma once
// A small file system in memory, to be filled and freed. Needs the right to mount.

#include <sys/mount.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "support/folder.hpp"

namespace exchange::testing {

class SmallDisk {
 public:
  explicit SmallDisk(unsigned mebibytes) {
    if (::mount("tmpfs", folder_.path().c_str(), "tmpfs", 0,
                ("size=" + std::to_string(mebibytes) + "m").c_str()) != 0)
      why_not_ = std::string("tmpfs cannot be mounted: ") + std::strerror(errno);
    ::chmod(folder_.path().c_str(), 0755);
  }
  ~SmallDisk() {
    if (why_not_.empty()) ::umount2(folder_.path().c_str(), MNT_DETACH);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

  // Returns why the file system is not available; empty if it is.
  const std::string& why_not() const { return why_not_; }
  const std::string& path() const { return folder_.path(); }

  void fill() {
    std::ofstream file(filler(), std::ios::binary | std::ios::app);
    const std::vector<char> page(4096, 'x');
    while (file.write(page.data(), std::streamsize(page.size())).flush()) {
    }
  }
  void free() { std::remove(filler().c_str()); }

 private:
  std::string filler() const { return folder_.path() + "/filler"; }

  TemporaryFolder folder_;
  std::string why_not_;
};

}  // namespace exchange::testing
