#include "store/sqlite/store_vfs.hpp"

#include <sqlite3.h>

#include <cstring>
#include <new>
#include <optional>

#include "base/bursts.hpp"
#include "store/sqlite/frame_check.hpp"
#include "store/sqlite/joined_writes.hpp"
#include "store/sqlite/page_checksums.hpp"
#include "store/sqlite/page_damage.hpp"

namespace exchange {
namespace {

// Rests between SQLite's reads and writes, if this thread works in bursts. It syncs what was
// written before a rest, because one large sync later would delay commits of the journal, which is
// on the same disk. Call it before a write to the file. Returns SQLite's code of the sync.
int pace_write(sqlite3_file* file) {
  if (!Bursts::rest_if_due()) return SQLITE_OK;
  return file->pMethods->xSync(file, SQLITE_SYNC_NORMAL | SQLITE_SYNC_DATAONLY);
}
void pace_read() { Bursts::rest_if_due(); }

struct Log {
  Log(const char* name, sqlite3_file* below) : writes(below), frames(name) {}
  JoinedWrites writes;
  FrameCheck frames;
};

// A sqlite3_file of this layer. SQLite allocates it; it knows only its size and its base class.
struct File : sqlite3_file {
  File(const char* name_, sqlite3_file* below_) : sqlite3_file{}, name(name_), below(below_) {}
  const char* name;                    // SQLite keeps it while the file is open
  sqlite3_file* below;                 // the file of the VFS below
  std::optional<PageChecksums> pages;  // for a database file
  std::optional<Log> log;              // for a log
  Log* its_log = nullptr;              // for a database file: its log, while the log is open
};

File& opened(sqlite3_file* file) { return *static_cast<File*>(file); }
sqlite3_file* below(sqlite3_file* file) { return opened(file).below; }

File* database_of(const File& log) {
  return static_cast<File*>(sqlite3_database_file_object(log.name));
}

int read_log(Log& log, void* into, int amount, sqlite3_int64 offset) {
  const int code = log.writes.read(into, amount, offset);
  if (code != SQLITE_OK) return code;
  return log.frames.check(log.writes, static_cast<const unsigned char*>(into), amount, offset);
}

int read_database(File& file, void* into, int amount, sqlite3_int64 offset) {
  const int code = file.below->pMethods->xRead(file.below, into, amount, offset);
  if (code == SQLITE_IOERR_SHORT_READ && offset > 0 && file.pages->must_have(amount, offset)) {
    // SQLite would read the missing part of a page that is cut as zeros. SQLite itself reports a
    // short page 1, such as the beginning of another program's file.
    sqlite3_int64 size = 0;
    if (file.below->pMethods->xFileSize(file.below, &size) == SQLITE_OK && size > offset)
      return report_page_damage(file.name, offset / amount + 1, offset, "is cut short");
  }
  if (code != SQLITE_OK) return code;
  auto* const bytes = static_cast<unsigned char*>(into);
  if (offset == 0 && amount >= 100) file.pages->read_header(bytes);
  return file.pages->must_have(amount, offset) ? file.pages->check(bytes, offset) : SQLITE_OK;
}

int read(sqlite3_file* base, void* into, int amount, sqlite3_int64 offset) {
  pace_read();
  File& file = opened(base);
  if (file.log) return read_log(*file.log, into, amount, offset);
  if (file.pages) return read_database(file, into, amount, offset);
  return file.below->pMethods->xRead(file.below, into, amount, offset);
}

int write_log(Log& log, const unsigned char* bytes, int amount, sqlite3_int64 offset) {
  const bool completes_commit = log.frames.note_write(bytes, amount, offset);
  const int code = log.writes.write(bytes, amount, offset);
  return code == SQLITE_OK && completes_commit ? log.writes.flush() : code;
}

int write(sqlite3_file* base, const void* from, int amount, sqlite3_int64 offset) {
  File& file = opened(base);
  if (const int code = pace_write(file.below); code != SQLITE_OK) return code;
  const auto* bytes = static_cast<const unsigned char*>(from);
  if (file.log) return write_log(*file.log, bytes, amount, offset);
  if (file.pages) bytes = file.pages->seal(bytes, amount, offset);
  return file.below->pMethods->xWrite(file.below, bytes, amount, offset);
}

int flush(File& file) { return file.log ? file.log->writes.flush() : SQLITE_OK; }

int truncate(sqlite3_file* base, sqlite3_int64 size) {
  const int code = flush(opened(base));
  return code != SQLITE_OK ? code : below(base)->pMethods->xTruncate(below(base), size);
}

int sync(sqlite3_file* base, int flags) {
  const int code = flush(opened(base));
  return code != SQLITE_OK ? code : below(base)->pMethods->xSync(below(base), flags);
}

int file_size(sqlite3_file* base, sqlite3_int64* size) {
  const int code = flush(opened(base));
  return code != SQLITE_OK ? code : below(base)->pMethods->xFileSize(below(base), size);
}

int shm_lock(sqlite3_file* base, int at, int count, int flags) {
  // The end of a transaction. Whatever is still buffered was rolled back. It must not be written
  // over the next transaction, which may be another connection's.
  if (at == 0 && (flags & SQLITE_SHM_UNLOCK) != 0 && opened(base).its_log != nullptr)
    opened(base).its_log->writes.drop();
  return below(base)->pMethods->xShmLock(below(base), at, count, flags);
}

int close(sqlite3_file* base) {
  File& file = opened(base);
  if (file.log) database_of(file)->its_log = nullptr;
  const int code = file.below->pMethods->xClose(file.below);
  ::operator delete(file.below);
  file.~File();
  return code;
}

// All other operations are passed to the VFS below. Version 2 has no xFetch, so SQLite cannot
// bypass this layer by reading pages through a memory map.
constexpr sqlite3_io_methods methods = {
    .iVersion = 2,
    .xClose = close,
    .xRead = read,
    .xWrite = write,
    .xTruncate = truncate,
    .xSync = sync,
    .xFileSize = file_size,
    .xLock = [](sqlite3_file* f, int lock) { return below(f)->pMethods->xLock(below(f), lock); },
    .xUnlock = [](sqlite3_file* f,
                  int lock) { return below(f)->pMethods->xUnlock(below(f), lock); },
    .xCheckReservedLock =
        [](sqlite3_file* f, int* held) {
          return below(f)->pMethods->xCheckReservedLock(below(f), held);
        },
    .xFileControl =
        [](sqlite3_file* f, int what, void* value) {
          return below(f)->pMethods->xFileControl(below(f), what, value);
        },
    .xSectorSize = [](sqlite3_file* f) { return below(f)->pMethods->xSectorSize(below(f)); },
    .xDeviceCharacteristics =
        [](sqlite3_file* f) { return below(f)->pMethods->xDeviceCharacteristics(below(f)); },
    .xShmMap =
        [](sqlite3_file* f, int page, int size, int extend, void volatile** at) {
          return below(f)->pMethods->xShmMap(below(f), page, size, extend, at);
        },
    .xShmLock = shm_lock,
    .xShmBarrier = [](sqlite3_file* f) { below(f)->pMethods->xShmBarrier(below(f)); },
    .xShmUnmap = [](sqlite3_file* f,
                    int remove) { return below(f)->pMethods->xShmUnmap(below(f), remove); },
    .xFetch = nullptr,
    .xUnfetch = nullptr,
};

sqlite3_vfs* below() { return sqlite3_vfs_find(nullptr); }

int open(sqlite3_vfs*, const char* name, sqlite3_file* base, int flags, int* out_flags) {
  sqlite3_vfs* const vfs = below();
  base->pMethods = nullptr;
  auto* const below_file =
      static_cast<sqlite3_file*>(::operator new(std::size_t(vfs->szOsFile), std::nothrow));
  if (below_file == nullptr) return SQLITE_NOMEM;
  std::memset(below_file, 0, std::size_t(vfs->szOsFile));
  const int code = vfs->xOpen(vfs, name, below_file, flags, out_flags);
  if (code != SQLITE_OK) {
    if (below_file->pMethods != nullptr) below_file->pMethods->xClose(below_file);
    ::operator delete(below_file);
    return code;
  }
  const bool is_database = name != nullptr && (flags & SQLITE_OPEN_MAIN_DB) != 0,
             is_log = name != nullptr && (flags & SQLITE_OPEN_WAL) != 0;
  File& file = *new (base) File(name, below_file);
  file.pMethods = &methods;
  if (is_database) file.pages.emplace(name);
  if (is_log) {
    file.log.emplace(name, below_file);
    database_of(file)->its_log = &*file.log;
  }
  return SQLITE_OK;
}

sqlite3_vfs layer = {
    .iVersion = 2,
    .szOsFile = int(sizeof(File)),
    .mxPathname = 4'096,
    .pNext = nullptr,
    .zName = "exchange-store",
    .pAppData = nullptr,
    .xOpen = open,
    .xDelete = [](sqlite3_vfs*, const char* name,
                  int sync) { return below()->xDelete(below(), name, sync); },
    .xAccess = [](sqlite3_vfs*, const char* name, int flags,
                  int* found) { return below()->xAccess(below(), name, flags, found); },
    .xFullPathname = [](sqlite3_vfs*, const char* name, int size,
                        char* out) { return below()->xFullPathname(below(), name, size, out); },
    .xDlOpen = [](sqlite3_vfs*, const char*) -> void* { return nullptr; },
    .xDlError = [](sqlite3_vfs*, int size,
                   char* text) { sqlite3_snprintf(size, text, "no extensions here"); },
    .xDlSym = [](sqlite3_vfs*, void*, const char*) -> void (*)() { return nullptr; },
    .xDlClose = [](sqlite3_vfs*, void*) {},
    .xRandomness = [](sqlite3_vfs*, int size,
                      char* out) { return below()->xRandomness(below(), size, out); },
    .xSleep = [](sqlite3_vfs*, int microseconds) { return below()->xSleep(below(), microseconds); },
    .xCurrentTime = [](sqlite3_vfs*, double* days) { return below()->xCurrentTime(below(), days); },
    .xGetLastError = [](sqlite3_vfs*, int size,
                        char* text) { return below()->xGetLastError(below(), size, text); },
    .xCurrentTimeInt64 =
        [](sqlite3_vfs*, sqlite3_int64* milliseconds) {
          return below()->xCurrentTimeInt64(below(), milliseconds);
        },
    .xSetSystemCall = nullptr,
    .xGetSystemCall = nullptr,
    .xNextSystemCall = nullptr,
};

}  // namespace

const char* store_vfs() {
  [[maybe_unused]] static const int registered = sqlite3_vfs_register(&layer, 0);
  return layer.zName;
}

}  // namespace exchange
