#include "journal/raw_file.hpp"

#include <algorithm>
#include <filesystem>

namespace exchange {

bool file_has_content(const std::string& path) {
  sqlite3_vfs* const vfs = sqlite3_vfs_find(nullptr);
  int found = 0;
  return vfs->xAccess(vfs, path.c_str(), SQLITE_ACCESS_EXISTS, &found) == SQLITE_OK && found != 0;
}

bool begins_as_database(const std::string& path) {
  if (!file_has_content(path)) return false;
  constexpr std::string_view magic("SQLite format 3", 16);
  std::string begin(magic.size(), '\0');
  RawFile file(behind_links(path), SQLITE_OPEN_READONLY | SQLITE_OPEN_MAIN_DB);
  return file.read(begin.data(), begin.size(), 0) && begin == magic;
}

std::string behind_links(const std::string& path) {
  std::filesystem::path file = path;
  std::error_code none;
  constexpr int links_max = 100;  // SQLite's own limit
  for (int links = 0; links < links_max && std::filesystem::is_symlink(file, none); ++links)
    file = file.parent_path() / std::filesystem::read_symlink(file, none);
  return file.string();
}

void remove_file(const std::string& path) {
  sqlite3_vfs* const vfs = sqlite3_vfs_find(nullptr);
  const int code = vfs->xDelete(vfs, path.c_str(), 1);
  if (code != SQLITE_OK && code != SQLITE_IOERR_DELETE_NOENT)
    throw StoreUnavailable(path + " cannot be removed; may this user write in its folder?");
}

RawFile::RawFile(const std::string& path, int flags) : path_(path) {
  sqlite3_vfs* const vfs = sqlite3_vfs_find(nullptr);
  memory_.resize(std::size_t(vfs->szOsFile) / sizeof(std::max_align_t) + 1);
  int found_flags = 0;
  // after a failed xOpen there is nothing to close
  const bool opened = vfs->xOpen(vfs, path_.c_str(), file(), flags, &found_flags) == SQLITE_OK;
  // SQLite opens a file read-only if this user may not write it.
  const bool cannot_write =
      (flags & SQLITE_OPEN_READWRITE) != 0 && (found_flags & SQLITE_OPEN_READONLY) != 0;
  if (opened && cannot_write) file()->pMethods->xClose(file());
  if (!opened || cannot_write)
    throw StoreUnavailable(path_ + " cannot be opened; may this user read and write the file?");
  if (file()->pMethods->xFileSize(file(), &size_) != SQLITE_OK) {
    file()->pMethods->xClose(file());
    throw unreadable();
  }
}

bool RawFile::read(void* into, std::size_t bytes, sqlite3_int64 offset) {
  const int code = file()->pMethods->xRead(file(), into, int(bytes), offset);
  if (code != SQLITE_OK && code != SQLITE_IOERR_SHORT_READ) throw unreadable();
  return code == SQLITE_OK;
}

void RawFile::write(std::string_view bytes, sqlite3_int64 offset) {
  constexpr std::size_t at_once = 64 * 1024;  // one VFS call writes less than 128 KiB
  for (; !bytes.empty(); bytes.remove_prefix(std::min(bytes.size(), at_once))) {
    const std::string_view part = bytes.substr(0, at_once);
    require_written(file()->pMethods->xWrite(file(), part.data(), int(part.size()), offset));
    offset += sqlite3_int64(part.size());
  }
}

void RawFile::sync() {
  // After a failed sync the content of the disk is unknown, and reading it again may return wrong
  // data from the page cache (Rebello et al., "Can Applications Recover from fsync Failures?",
  // 2020). Fatal: the next start recovers from what is on the disk.
  if (file()->pMethods->xSync(file(), SQLITE_SYNC_NORMAL | SQLITE_SYNC_DATAONLY) != SQLITE_OK)
    throw StoreCorrupt(path_ + after_failed_sync);
}

bool RawFile::try_lock(bool for_writing) {
  const auto lock = [&](int level) {
    const int code = file()->pMethods->xLock(file(), level);
    if (code != SQLITE_OK && code != SQLITE_BUSY)
      throw StoreUnavailable(path_ + " cannot be locked; does its file system have locks?");
    return code == SQLITE_OK;
  };
  // SQLite never asks for an exclusive lock without a reserved one
  if (lock(SQLITE_LOCK_SHARED) &&
      (!for_writing || (lock(SQLITE_LOCK_RESERVED) && lock(SQLITE_LOCK_EXCLUSIVE))))
    return true;
  file()->pMethods->xUnlock(file(), SQLITE_LOCK_NONE);
  return false;
}

StoreUnavailable RawFile::unreadable() const {
  return StoreUnavailable(path_ + " cannot be read; is the disk sound?");
}

void RawFile::require_written(int code) const {
  if (code == SQLITE_OK) return;
  throw StoreUnavailable(
      code == SQLITE_FULL
          ? path_ + ": " + sqlite3_errstr(code) + "; free some space on the disk"
          : path_ + " cannot be written; is the disk sound, and may this user write the file?");
}

}  // namespace exchange
