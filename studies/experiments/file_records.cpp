#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>
#include <vector>

#include "studies/experiments/file_access.hpp"

namespace exchange::experiments {

Record record_of(long number) {
  char text[record_bytes + 1];
  std::snprintf(text, sizeof text, "%019ld\n", number);
  Record record;
  std::memcpy(record.data(), text, record_bytes);
  return record;
}

std::span<const Record> all_records(long count) {
  static std::vector<Record> made;
  while (long(made.size()) < count) made.push_back(record_of(long(made.size())));
  return std::span<const Record>(made).first(std::size_t(count));
}

TemporaryFile::TemporaryFile() {
  std::string folder = (std::filesystem::temp_directory_path() / "experiments.XXXXXX").string();
  need(::mkdtemp(folder.data()) != nullptr, folder);
  folder_ = folder;
  descriptor_ = ::open(path().c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
  need(descriptor_ >= 0, path());
}

TemporaryFile::~TemporaryFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

void TemporaryFile::write(const void* bytes, std::size_t size) {
  // a regular file takes all or fails
  need(::write(descriptor_, bytes, size) == ssize_t(size), "write");
}

void TemporaryFile::sync() { need(::fdatasync(descriptor_) == 0, "fdatasync"); }

std::string TemporaryFile::content() const {
  std::ifstream file(path(), std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

long TemporaryFile::wrong(long count) const {
  const std::string found = content();
  long wrong = found.size() == std::size_t(count) * record_bytes ? 0 : 1;
  for (long i = 0; i < count; ++i)
    wrong += found.size() < std::size_t(i + 1) * record_bytes ||
             std::memcmp(found.data() + i * record_bytes, all_records(count)[i].data(),
                         record_bytes) != 0;
  return wrong;
}

// From the mount that is nearest to it.
std::string temporary_file_system() {
  const std::string path =
      std::filesystem::canonical(std::filesystem::temp_directory_path()).string();
  std::ifstream mounts("/proc/self/mounts");
  std::string type = "unknown", best;
  for (std::string line; std::getline(mounts, line);) {
    std::istringstream words(line);
    std::string device, where, kind;
    words >> device >> where >> kind;
    const bool holds = where == "/" || path == where || path.starts_with(where + "/");
    if (holds && where.size() >= best.size()) {
      best = where;
      type = kind;
    }
  }
  return type;
}

}  // namespace exchange::experiments
