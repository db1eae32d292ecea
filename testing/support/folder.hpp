#pragma once
// Places for files: a temporary folder, removed at the end of its scope, and a small file system in
// memory, to be filled and freed; and the contents of a file.

#include <sys/mount.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <system_error>
#include <vector>

namespace exchange::testing {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    if (::mkdtemp(path_.data()) == nullptr)
      throw std::system_error(errno, std::generic_category(), path_);
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const {
    return (std::filesystem::path(path_) / name).string();
  }

 private:
  std::string path_ = (std::filesystem::temp_directory_path() / "exchange-test-XXXXXX").string();
};

// Needs the right to mount.
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

inline std::string contents(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

}  // namespace exchange::testing
