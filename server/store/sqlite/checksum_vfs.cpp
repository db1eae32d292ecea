#include "store/sqlite/checksum_vfs.hpp"

#include <algorithm>
#include <bit>
#include <boost/endian/conversion.hpp>
#include <cstring>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "base/bursts.hpp"
#include "base/checksum.hpp"
#include "store/sqlite/wal_frames.hpp"

namespace exchange {
namespace {

using boost::endian::load_little_u64, boost::endian::store_little_u64;

thread_local std::string damage;

constexpr sqlite3_int64 never = INT64_MAX;

// A sqlite3_file of this layer. SQLite allocates it, knowing only its size and its base class.
struct File : sqlite3_file {
  enum class Kind { database, log, other };
  sqlite3_file* below;  // the file of the VFS below
  Kind kind;
  const char* name;  // SQLite keeps it while the file is open
  // Of a database file, from its header: pages must have a checksum; pages have the reserved bytes
  // for one.
  bool sealed, has_reserved_bytes;
  int page_bytes;
  std::unique_ptr<std::vector<unsigned char>> scratch;  // a copy of page 1
  // Of a log: frames from this offset on belong to our transaction in progress. SQLite still
  // changes their sums, so they are not compared.
  sqlite3_int64 uncommitted_from;
  // Of a log: what SQLite has written since the last flush(), which is in one piece.
  std::vector<unsigned char> unwritten;
  sqlite3_int64 unwritten_from;
  // Of a database file: its log, while that is open.
  File* log;
};

File& of(sqlite3_file* file) { return *static_cast<File*>(file); }
sqlite3_file* below(sqlite3_file* file) { return of(file).below; }

bool is_page(int amount, sqlite3_int64 offset) {
  return amount >= 512 && std::has_single_bit(unsigned(amount)) && offset % amount == 0;
}

int failed(const File& file, sqlite3_int64 page, sqlite3_int64 offset, const char* what) {
  damage = std::string(file.name) + ": page " + std::to_string(page) + " (byte " +
           std::to_string(offset) + ") " + what;
  return SQLITE_IOERR_DATA;
}

bool is_header(const unsigned char* header) {
  return std::memcmp(header, "SQLite format 3", 16) == 0;
}

// Reads from the header what pages the file has.
void read_header(File& file, const unsigned char* header) {
  file.sealed = header_wants_checksums(header);
  if (!is_header(header)) {
    file.has_reserved_bytes = false;
    file.page_bytes = 4'096;
    return;
  }
  const int size = header[16] << 8 | header[17];
  file.page_bytes = size == 1 ? 65'536 : size;
  file.has_reserved_bytes = header[20] == checksum_bytes;
}

std::uint64_t checksum_of(File& file, const unsigned char* page, sqlite3_int64 number) {
  if (number == 1) {
    // Format versions, change counter, schema cookie and version-valid-for.
    file.scratch->assign(page, page + file.page_bytes);
    page = file.scratch->data();
    for (const auto& [begin, end] : {std::pair{18, 20}, {24, 28}, {40, 44}, {92, 100}})
      std::memset(file.scratch->data() + begin, 0, std::size_t(end - begin));
  }
  // page_checksum takes multiples of 32 bytes; the last 3 words before the checksum enter as seeds.
  const std::size_t whole = std::size_t(file.page_bytes - 32);
  std::uint64_t sum = page_checksum(page, whole, std::uint64_t(number));
  for (std::size_t at = whole; at < whole + 24; at += 8)
    sum = page_checksum(nullptr, 0, sum + load_little_u64(page + at));
  return sum == 0 ? 1 : sum;  // zero means none
}

// Whether the end of a page with rows is one of its free blocks: SQLite has moved the rows there to
// another page, and the bytes mean nothing.
bool ends_in_free_block(const unsigned char* page, const unsigned char* start, int end) {
  const auto number = [](const unsigned char* at) { return at[0] << 8 | at[1]; };
  for (int block = number(start + 1), before = 0; block > before && block + 4 <= end;
       before = std::exchange(block, number(page + block)))
    if (block + number(page + block + 2) == end) return true;
  return false;
}

// Whether a page without a checksum is plausible: another program's checkpoint wrote it. SQLite
// fills a page with rows from its end, so that zeros there are damage, unless that part is free; a
// page without rows must not be all zeros.
bool may_lack_checksum(const unsigned char* page, int page_bytes, sqlite3_int64 number) {
  const unsigned char* const start = page + (number == 1 ? 100 : 0);
  const bool rows = (*start == 2 || *start == 5 || *start == 10 || *start == 13) &&
                    (start[3] != 0 || start[4] != 0);
  const unsigned char* const end = page + page_bytes - checksum_bytes;
  const bool zero_end = load_little_u64(end - 8) == 0 && load_little_u64(end - 16) == 0;
  if (rows || number == 1)
    return !zero_end || ends_in_free_block(page, start, page_bytes - checksum_bytes);
  for (const unsigned char* at = page; at != end; ++at)
    if (*at != 0) return true;
  return false;
}

int check_page(File& file, unsigned char* page, sqlite3_int64 offset) {
  const sqlite3_int64 number = offset / file.page_bytes + 1;
  unsigned char* const at = page + file.page_bytes - checksum_bytes;
  if (const std::uint64_t stored = load_little_u64(at); stored != 0) {
    if (stored != checksum_of(file, page, number))
      return failed(file, number, offset, "fails its checksum");
    store_little_u64(at, 0);
  } else if (!may_lack_checksum(page, file.page_bytes, number)) {
    return failed(file, number, offset, "is overwritten with zeros");
  }
  return SQLITE_OK;
}

// Gives the held-back writes to the VFS below. If that fails they stay: SQLite took them for
// written, so that a later commit must fail too, or write them.
int flush(File& file) {
  if (file.unwritten.empty()) return SQLITE_OK;
  const int code = file.below->pMethods->xWrite(file.below, file.unwritten.data(),
                                                int(file.unwritten.size()), file.unwritten_from);
  if (code == SQLITE_OK) file.unwritten.clear();
  return code;
}

int write_log(File& file, const unsigned char* bytes, int amount, sqlite3_int64 offset) {
  constexpr std::size_t unwritten_max = 64 * 1024;  // SQLite's VFS writes less than 128 KiB a call
  const bool follows = offset == file.unwritten_from + sqlite3_int64(file.unwritten.size());
  if (!follows || file.unwritten.size() + std::size_t(amount) > unwritten_max)
    if (const int code = flush(file); code != SQLITE_OK) return code;
  if (file.unwritten.empty()) file.unwritten_from = offset;
  file.unwritten.insert(file.unwritten.end(), bytes, bytes + amount);
  return SQLITE_OK;
}

int read_below(File& file, void* into, int amount, sqlite3_int64 offset) {
  const bool unwritten = offset < file.unwritten_from + sqlite3_int64(file.unwritten.size()) &&
                         file.unwritten_from < offset + amount;
  if (const int code = unwritten ? flush(file) : SQLITE_OK; code != SQLITE_OK) return code;
  return file.below->pMethods->xRead(file.below, into, amount, offset);
}

// The sums of a frame continue those of the frame before, so that one frame can be checked with the
// frame before it.
int check_frame(File& file, const unsigned char* page, int amount, sqlite3_int64 offset) {
  const sqlite3_int64 frame = offset - sqlite3_int64(wal_frame_header_bytes);
  unsigned char start[wal_header_bytes], header[wal_frame_header_bytes],
      before[wal_frame_header_bytes];
  if (const int code = read_below(file, start, sizeof start, 0); code != SQLITE_OK) return code;
  const std::optional<WalHeader> log = read_wal_header(start);
  if (!log) return failed(file, 0, 0, "is in a log whose header is damaged");
  if (const int code = read_below(file, header, sizeof header, frame); code != SQLITE_OK)
    return code;
  WalSums sums = log->sums;
  if (frame > sqlite3_int64(wal_header_bytes)) {
    if (const int code =
            read_below(file, before, sizeof before, frame - amount - sqlite3_int64(sizeof before));
        code != SQLITE_OK)
      return code;
    sums = read_wal_frame_header(before).sums;
  }
  if (wal_frame_fits(log->big_endian, sums, header, page, std::size_t(amount))) return SQLITE_OK;
  return failed(file, read_wal_frame_header(header).page, offset, "fails the checksum of the log");
}

bool is_frame_page(int amount, sqlite3_int64 offset) {
  constexpr sqlite3_int64 first = wal_header_bytes + wal_frame_header_bytes;
  return is_page(amount, 0) && offset >= first &&
         (offset - first) % (amount + sqlite3_int64(wal_frame_header_bytes)) == 0;
}

int read(sqlite3_file* base, void* into, int amount, sqlite3_int64 offset) {
  Bursts::rest_if_due();
  File& file = of(base);
  const int code = read_below(file, into, amount, offset);
  if (code == SQLITE_IOERR_SHORT_READ && file.kind == File::Kind::database && file.sealed &&
      amount == file.page_bytes && offset > 0) {
    // SQLite would take the rest of a page that is cut for zeros. What a short page 1 is, such as
    // the beginning of another program's file, it says itself.
    sqlite3_int64 size = 0;
    if (below(base)->pMethods->xFileSize(below(base), &size) == SQLITE_OK && size > offset)
      return failed(file, offset / amount + 1, offset, "is cut short");
  }
  if (code != SQLITE_OK) return code;
  auto* const bytes = static_cast<unsigned char*>(into);
  if (file.kind == File::Kind::database) {
    if (offset == 0 && amount >= 100) read_header(file, bytes);
    if (file.sealed && amount == file.page_bytes && is_page(amount, offset))
      return check_page(file, bytes, offset);
  }
  if (file.kind == File::Kind::log && is_frame_page(amount, offset) &&
      offset < file.uncommitted_from)
    return check_frame(file, bytes, amount, offset);
  return SQLITE_OK;
}

int write(sqlite3_file* base, const void* from, int amount, sqlite3_int64 offset) {
  File& file = of(base);
  // A large sync would delay commits of the journal, which is on the same disk.
  if (Bursts::rest_if_due())
    if (const int code =
            file.below->pMethods->xSync(file.below, SQLITE_SYNC_NORMAL | SQLITE_SYNC_DATAONLY);
        code != SQLITE_OK)
      return code;
  const auto* bytes = static_cast<const unsigned char*>(from);
  std::vector<unsigned char> sealed;
  if (file.kind == File::Kind::database && is_page(amount, offset)) {
    if (offset == 0) read_header(file, bytes);
    if (file.has_reserved_bytes && amount == file.page_bytes) {
      sealed.assign(bytes, bytes + amount);
      store_little_u64(sealed.data() + amount - checksum_bytes,
                       checksum_of(file, bytes, offset / amount + 1));
      bytes = sealed.data();
    }
  }
  if (file.kind == File::Kind::log) {
    if (amount == int(wal_frame_header_bytes))
      file.uncommitted_from =
          read_wal_frame_header(bytes).commits() ? never : std::min(file.uncommitted_from, offset);
    if (const int code = write_log(file, bytes, amount, offset); code != SQLITE_OK) return code;
    const bool commit_complete =
        amount != int(wal_frame_header_bytes) && file.uncommitted_from == never;
    return commit_complete ? flush(file) : SQLITE_OK;
  }
  return file.below->pMethods->xWrite(file.below, bytes, amount, offset);
}

int truncate(sqlite3_file* base, sqlite3_int64 size) {
  const int code = flush(of(base));
  return code != SQLITE_OK ? code : below(base)->pMethods->xTruncate(below(base), size);
}

int sync(sqlite3_file* base, int flags) {
  const int code = flush(of(base));
  return code != SQLITE_OK ? code : below(base)->pMethods->xSync(below(base), flags);
}

int file_size(sqlite3_file* base, sqlite3_int64* size) {
  const int code = flush(of(base));
  return code != SQLITE_OK ? code : below(base)->pMethods->xFileSize(below(base), size);
}

int shm_lock(sqlite3_file* base, int at, int count, int flags) {
  // The end of a transaction. What is held back now was rolled back, and must not be written over
  // the next transaction, which may be another connection's.
  if (at == 0 && (flags & SQLITE_SHM_UNLOCK) != 0 && of(base).log != nullptr)
    of(base).log->unwritten.clear();
  return below(base)->pMethods->xShmLock(below(base), at, count, flags);
}

File* database_of(const File& log) {
  return static_cast<File*>(sqlite3_database_file_object(log.name));
}

int close(sqlite3_file* base) {
  File& file = of(base);
  if (file.kind == File::Kind::log) database_of(file)->log = nullptr;
  const int code = file.below->pMethods->xClose(file.below);
  ::operator delete(file.below);
  file.~File();
  return code;
}

// All other operations are passed to the VFS below. Version 2 has no xFetch, so that SQLite cannot
// read pages through a memory map, past this layer.
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
  File& file = *new (base) File{};
  file.pMethods = &methods;
  file.below = below_file;
  file.kind = name == nullptr               ? File::Kind::other
              : flags & SQLITE_OPEN_MAIN_DB ? File::Kind::database
              : flags & SQLITE_OPEN_WAL     ? File::Kind::log
                                            : File::Kind::other;
  file.name = name;
  file.uncommitted_from = never;
  file.scratch = std::make_unique<std::vector<unsigned char>>();
  if (file.kind == File::Kind::log) database_of(file)->log = &file;
  return SQLITE_OK;
}

sqlite3_vfs layer = {
    .iVersion = 2,
    .szOsFile = int(sizeof(File)),
    .mxPathname = 4'096,
    .pNext = nullptr,
    .zName = "exchange-checksums",
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

// Either mark is enough: one flipped bit must not turn the checksums off. Nor may a lost header,
// which a newer copy of page 1 in the log could hide.
bool header_wants_checksums(const unsigned char* header) {
  const std::uint32_t application = std::uint32_t(header[68]) << 24 |
                                    std::uint32_t(header[69]) << 16 |
                                    std::uint32_t(header[70]) << 8 | header[71];
  return !is_header(header) || header[20] == checksum_bytes ||
         application == checksum_application_id;
}

const char* checksum_vfs() {
  [[maybe_unused]] static const int registered = sqlite3_vfs_register(&layer, 0);
  return layer.zName;
}

const std::string& last_page_damage() { return damage; }

}  // namespace exchange
