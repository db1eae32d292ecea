#include "store/sqlite_log.hpp"

#include <sqlite3.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <vector>

#include "store/checksum_vfs.hpp"
#include "store/store.hpp"
#include "store/wal_frames.hpp"

namespace exchange {
namespace {

// A file, opened through SQLite's default VFS but not as a database.
class RawFile {
 public:
  RawFile(const std::string& path, int flags) : path_(path) {
    sqlite3_vfs* const vfs = sqlite3_vfs_find(nullptr);
    memory_.resize(std::size_t(vfs->szOsFile) / sizeof(std::max_align_t) + 1);
    int found_flags = 0;
    // after a failed xOpen there is nothing to close
    if (vfs->xOpen(vfs, path_.c_str(), file(), flags, &found_flags) != SQLITE_OK)
      throw StoreUnavailable(path_ + " cannot be opened; may this user read and write the file?");
    if (file()->pMethods->xFileSize(file(), &size_) != SQLITE_OK) {
      file()->pMethods->xClose(file());
      throw unreadable();
    }
  }
  ~RawFile() { file()->pMethods->xClose(file()); }
  RawFile(const RawFile&) = delete;
  RawFile& operator=(const RawFile&) = delete;

  sqlite3_int64 size() const { return size_; }
  // Returns false at the end of the file. A read that fails throws StoreUnavailable: it must not
  // look like the end.
  bool read(unsigned char* into, std::size_t bytes, sqlite3_int64 offset) {
    const int code = file()->pMethods->xRead(file(), into, int(bytes), offset);
    if (code != SQLITE_OK && code != SQLITE_IOERR_SHORT_READ) throw unreadable();
    return code == SQLITE_OK;
  }
  void write(const unsigned char* from, std::size_t bytes, sqlite3_int64 offset) {
    require_written(file()->pMethods->xWrite(file(), from, int(bytes), offset));
  }
  void cut(sqlite3_int64 size) { require_written(file()->pMethods->xTruncate(file(), size)); }
  bool sync() { return file()->pMethods->xSync(file(), SQLITE_SYNC_NORMAL) == SQLITE_OK; }

 private:
  StoreUnavailable unreadable() const {
    return StoreUnavailable(path_ + " cannot be read; is the disk sound?");
  }
  void require_written(int code) const {
    if (code != SQLITE_OK)
      throw StoreUnavailable(
          path_ + " cannot be written; is the disk full, and may this user write the file?");
  }
  sqlite3_file* file() { return reinterpret_cast<sqlite3_file*>(memory_.data()); }
  const std::string path_;  // SQLite keeps a pointer to it
  std::vector<std::max_align_t> memory_;
  sqlite3_int64 size_ = 0;
};

// The file that `file` leads to: a VFS opens paths without symbolic links only.
std::string behind_links(std::filesystem::path file) {
  std::error_code none;
  constexpr int links_max = 100;  // SQLite's own limit
  for (int links = 0; links < links_max && std::filesystem::is_symlink(file, none); ++links)
    file = file.parent_path() / std::filesystem::read_symlink(file, none);
  return file.string();
}

// A file too short for a header has lost it, and counts as one with checksums.
bool has_checksums(const std::string& path) {
  RawFile file(behind_links(path), SQLITE_OPEN_READONLY | SQLITE_OPEN_MAIN_DB);
  unsigned char header[100];
  return !file.read(header, sizeof header, 0) || header_wants_checksums(header);
}

// Returns nothing for the log of a file without page checksums.
std::optional<WalState> examine(const std::string& path, RawFile& log) {
  if (!has_checksums(path)) return {};
  return examine_wal(std::uint64_t(log.size()),
                     [&](unsigned char* into, std::size_t bytes, std::uint64_t offset) {
                       return log.read(into, bytes, sqlite3_int64(offset));
                     });
}

}  // namespace

bool file_has_content(const std::string& path) {
  sqlite3_vfs* const vfs = sqlite3_vfs_find(nullptr);
  int found = 0;
  return vfs->xAccess(vfs, path.c_str(), SQLITE_ACCESS_EXISTS, &found) == SQLITE_OK && found != 0;
}

std::string log_of(const std::string& path) { return behind_links(path) + "-wal"; }

std::string find_log_damage(const std::string& path) {
  const std::string name = log_of(path);
  if (!file_has_content(path) || !file_has_content(name)) return {};
  RawFile log(name, SQLITE_OPEN_READONLY | SQLITE_OPEN_WAL);
  const std::optional<WalState> state = examine(path, log);
  return state ? state->damage : "";
}

void secure_log(const std::string& path) {
  const std::string name = log_of(path);
  if (!file_has_content(path) || !file_has_content(name)) return;
  RawFile log(name, SQLITE_OPEN_READWRITE | SQLITE_OPEN_WAL);
  const std::optional<WalState> state = examine(path, log);
  if (state && !state->damage.empty())
    throw StoreCorrupt(name + ": " + state->damage + "; " + restore_store);
  // Old frames behind the last commit must not look like later commits after the next crash. A
  // checkpoint by SQLite would remove them too, but not while another program reads the file.
  const sqlite3_int64 size = state ? sqlite3_int64(state->committed_bytes) : log.size();
  if (size < log.size()) log.cut(size);
  std::vector<unsigned char> chunk(64 * 1024);  // one VFS call writes less than 128 KiB
  for (sqlite3_int64 at = 0; at < size; at += sqlite3_int64(chunk.size())) {
    const auto bytes = std::size_t(std::min<sqlite3_int64>(size - at, sqlite3_int64(chunk.size())));
    if (!log.read(chunk.data(), bytes, at))
      throw StoreUnavailable(name + " became shorter; does another program write it?");
    log.write(chunk.data(), bytes, at);
  }
  if (!log.sync()) throw StoreCorrupt(name + after_failed_sync);
}

}  // namespace exchange
