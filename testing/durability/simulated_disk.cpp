#include "durability/simulated_disk.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

namespace exchange::testing {

using Fault = SimulatedDisk::Fault;

struct SimulatedDisk::Node {
  Bytes now, on_disk;
  std::vector<Change> unsynced;
  // a log or rollback journal whose folder entry is synced with its first sync, as SQLite does on
  // Unix
  bool new_log = false;
  std::vector<File*> files;
  std::vector<std::unique_ptr<Bytes>> shared_memory;
};

struct SimulatedDisk::File : sqlite3_file {
  SimulatedDisk* disk;
  std::shared_ptr<Node> node;
  std::string name;
  int lock = SQLITE_LOCK_NONE;
  unsigned shared = 0, exclusive = 0;  // locks in the shared memory, as bits
  bool mapped = false;
};

namespace {

constexpr std::size_t sector_bytes = 512;

void change_bytes(SimulatedDisk::Bytes& bytes, const SimulatedDisk::Change& change) {
  if (change.kind == SimulatedDisk::Change::Kind::truncate) {
    bytes.resize(change.at);
  } else {
    bytes.resize(std::max<std::size_t>(bytes.size(), change.at + change.bytes.size()));
    std::copy(change.bytes.begin(), change.bytes.end(), bytes.begin() + std::ptrdiff_t(change.at));
  }
}

SimulatedDisk::File& of(sqlite3_file* file) { return *static_cast<SimulatedDisk::File*>(file); }

}  // namespace

// The functions that SQLite calls.
struct SimulatedDiskMethods {
  using File = SimulatedDisk::File;
  using Node = SimulatedDisk::Node;
  using Change = SimulatedDisk::Change;
  using Kind = Change::Kind;

  static SimulatedDisk& disk(sqlite3_vfs* vfs) {
    return *static_cast<SimulatedDisk*>(vfs->pAppData);
  }

  static int open(sqlite3_vfs* vfs, const char* name, sqlite3_file* room, int flags,
                  int* out_flags) {
    SimulatedDisk& disk = SimulatedDiskMethods::disk(vfs);
    room->pMethods = nullptr;
    if (disk.stopped_) return SQLITE_IOERR;
    std::shared_ptr<Node> node;
    if (name == nullptr) {
      node = std::make_shared<Node>();
    } else if (const auto found = disk.folder_.find(name); found != disk.folder_.end()) {
      node = found->second;
    } else {
      if ((flags & SQLITE_OPEN_CREATE) == 0) return SQLITE_CANTOPEN;
      if (disk.begin(Fault::none) != SQLITE_OK) return SQLITE_CANTOPEN;
      node = std::make_shared<Node>();
      node->new_log =
          (flags & (SQLITE_OPEN_WAL | SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_SUPER_JOURNAL)) != 0;
      disk.folder_.emplace(name, node);
    }
    File& file = *new (room) File{};
    file.pMethods = &methods;
    file.disk = &disk;
    file.node = node;
    file.name = name == nullptr ? "" : name;
    node->files.push_back(&file);
    if (out_flags != nullptr) *out_flags = flags;
    return SQLITE_OK;
  }

  static int close(sqlite3_file* base) {
    File& file = of(base);
    std::erase(file.node->files, &file);
    file.~File();
    return SQLITE_OK;
  }

  static int read(sqlite3_file* base, void* into, int amount, sqlite3_int64 offset) {
    File& file = of(base);
    if (file.disk->stopped_ ||
        (file.disk->unreadable &&
         file.disk->unreadable(file.name, std::uint64_t(offset), std::uint64_t(offset + amount))))
      return SQLITE_IOERR_READ;
    const auto& bytes = file.node->now;
    const std::size_t begin = std::min<std::size_t>(bytes.size(), std::size_t(offset)),
                      count = std::min<std::size_t>(bytes.size() - begin, std::size_t(amount));
    std::copy_n(bytes.begin() + std::ptrdiff_t(begin), count, static_cast<char*>(into));
    std::memset(static_cast<char*>(into) + count, 0, std::size_t(amount) - count);
    return count == std::size_t(amount) ? SQLITE_OK : SQLITE_IOERR_SHORT_READ;
  }

  static int write(sqlite3_file* base, const void* from, int amount, sqlite3_int64 offset) {
    File& file = of(base);
    if (file.disk->stopped_) return SQLITE_IOERR_WRITE;
    if (file.disk->full && file.disk->full(file.name)) return SQLITE_FULL;
    const auto* bytes = static_cast<const unsigned char*>(from);
    const int code = file.disk->begin(Fault::write_error);
    Change change{Kind::write, std::uint64_t(offset), {bytes, bytes + amount}};
    // A write that fails may have been written in part: up to the end of some sector.
    if (code != SQLITE_OK) {
      const std::uint64_t end =
          (change.at + file.disk->below(std::uint64_t(amount) + sector_bytes)) / sector_bytes *
          sector_bytes;
      change.bytes.resize(
          std::min<std::uint64_t>(std::uint64_t(amount), std::max(end, change.at) - change.at));
    }
    change_bytes(file.node->now, change);
    file.node->unsynced.push_back(std::move(change));
    return code;
  }

  static int truncate(sqlite3_file* base, sqlite3_int64 size) {
    File& file = of(base);
    if (const int code = file.disk->begin(Fault::none); code != SQLITE_OK) return code;
    Change change{Kind::truncate, std::uint64_t(size), {}};
    change_bytes(file.node->now, change);
    file.node->unsynced.push_back(std::move(change));
    return SQLITE_OK;
  }

  static int sync(sqlite3_file* base, int) {
    File& file = of(base);
    SimulatedDisk& disk = *file.disk;
    const int code = disk.begin(Fault::sync_error);
    if (code != SQLITE_OK) {
      if (!disk.stopped_)
        std::erase_if(file.node->unsynced, [&](const Change&) { return disk.below(2) == 0; });
      return code;
    }
    for (const Change& change : file.node->unsynced) change_bytes(file.node->on_disk, change);
    file.node->unsynced.clear();
    if (std::exchange(file.node->new_log, false)) disk.folder_on_disk_ = disk.folder_;
    return SQLITE_OK;
  }

  static int size(sqlite3_file* base, sqlite3_int64* size) {
    *size = sqlite3_int64(of(base).node->now.size());
    return of(base).disk->stopped_ ? SQLITE_IOERR_FSTAT : SQLITE_OK;
  }

  static int lock(sqlite3_file* base, int level) {
    File& file = of(base);
    for (const File* other : file.node->files) {
      if (other == &file) continue;
      const bool in_the_way = level == SQLITE_LOCK_SHARED     ? other->lock >= SQLITE_LOCK_PENDING
                              : level == SQLITE_LOCK_RESERVED ? other->lock >= SQLITE_LOCK_RESERVED
                                                              : other->lock >= SQLITE_LOCK_SHARED;
      if (in_the_way) return SQLITE_BUSY;
    }
    file.lock = std::max(file.lock, level);
    return SQLITE_OK;
  }
  static int unlock(sqlite3_file* base, int level) {
    of(base).lock = std::min(of(base).lock, level);
    return SQLITE_OK;
  }
  static int check_reserved(sqlite3_file* base, int* held) {
    *held = std::any_of(of(base).node->files.begin(), of(base).node->files.end(),
                        [](const File* file) { return file->lock >= SQLITE_LOCK_RESERVED; });
    return SQLITE_OK;
  }

  static int map(sqlite3_file* base, int region, int size, int extend, void volatile** at) {
    File& file = of(base);
    auto& memory = file.node->shared_memory;
    if (std::none_of(file.node->files.begin(), file.node->files.end(),
                     [](const File* other) { return other->mapped; }))
      memory.clear();
    file.mapped = true;
    *at = nullptr;
    if (int(memory.size()) <= region) {
      if (!extend) return SQLITE_OK;
      while (int(memory.size()) <= region)
        memory.push_back(std::make_unique<SimulatedDisk::Bytes>(std::size_t(size)));
    }
    *at = memory[std::size_t(region)]->data();
    return SQLITE_OK;
  }
  static int lock_memory(sqlite3_file* base, int first, int count, int flags) {
    File& file = of(base);
    const unsigned bits = ((1u << count) - 1) << first;
    if (flags & SQLITE_SHM_UNLOCK) {
      file.shared &= ~bits;
      file.exclusive &= ~bits;
      return SQLITE_OK;
    }
    for (const File* other : file.node->files)
      if (other != &file &&
          ((other->exclusive | (flags & SQLITE_SHM_EXCLUSIVE ? other->shared : 0)) & bits) != 0)
        return SQLITE_BUSY;
    (flags & SQLITE_SHM_SHARED ? file.shared : file.exclusive) |= bits;
    return SQLITE_OK;
  }
  static int unmap(sqlite3_file* base, int) {
    File& file = of(base);
    file.mapped = false;
    file.shared = file.exclusive = 0;
    return SQLITE_OK;
  }

  static int remove(sqlite3_vfs* vfs, const char* name, int sync_folder) {
    SimulatedDisk& disk = SimulatedDiskMethods::disk(vfs);
    if (const int code = disk.begin(Fault::none); code != SQLITE_OK) return SQLITE_IOERR_DELETE;
    if (disk.folder_.erase(name) == 0) return SQLITE_IOERR_DELETE_NOENT;
    if (sync_folder) disk.folder_on_disk_ = disk.folder_;
    return SQLITE_OK;
  }
  static int access(sqlite3_vfs* vfs, const char* name, int flags, int* found) {
    SimulatedDisk& disk = SimulatedDiskMethods::disk(vfs);
    const auto node = disk.folder_.find(name);
    *found =
        node != disk.folder_.end() && (flags != SQLITE_ACCESS_EXISTS || !node->second->now.empty());
    return disk.stopped_ ? SQLITE_IOERR_ACCESS : SQLITE_OK;
  }

  static constexpr sqlite3_io_methods methods = {
      .iVersion = 2,
      .xClose = close,
      .xRead = read,
      .xWrite = write,
      .xTruncate = truncate,
      .xSync = sync,
      .xFileSize = size,
      .xLock = lock,
      .xUnlock = unlock,
      .xCheckReservedLock = check_reserved,
      .xFileControl = [](sqlite3_file*, int, void*) { return SQLITE_NOTFOUND; },
      .xSectorSize = [](sqlite3_file*) { return int(sector_bytes); },
      .xDeviceCharacteristics = [](sqlite3_file*) { return SQLITE_IOCAP_POWERSAFE_OVERWRITE; },
      .xShmMap = map,
      .xShmLock = lock_memory,
      .xShmBarrier = [](sqlite3_file*) {},
      .xShmUnmap = unmap,
      .xFetch = nullptr,
      .xUnfetch = nullptr,
  };
};

SimulatedDisk::SimulatedDisk(std::uint64_t seed) : random_(seed) {
  using M = SimulatedDiskMethods;
  sqlite3_initialize();
  vfs_ = std::make_unique<sqlite3_vfs>();
  vfs_->iVersion = 2;
  vfs_->szOsFile = int(sizeof(File));
  vfs_->mxPathname = 4'096;
  vfs_->zName = "simulated-disk";
  vfs_->pAppData = this;
  vfs_->xOpen = M::open;
  vfs_->xDelete = M::remove;
  vfs_->xAccess = M::access;
  vfs_->xFullPathname = [](sqlite3_vfs*, const char* name, int size, char* out) {
    sqlite3_snprintf(size, out, "%s", name);
    return SQLITE_OK;
  };
  vfs_->xRandomness = [](sqlite3_vfs* vfs, int size, char* out) {
    std::generate(out, out + size, [&] { return char(M::disk(vfs).random_()); });
    return size;
  };
  vfs_->xSleep = [](sqlite3_vfs*, int microseconds) { return microseconds; };
  vfs_->xCurrentTimeInt64 = [](sqlite3_vfs*, sqlite3_int64* milliseconds) {
    *milliseconds = 212'000'000'000'000;
    return SQLITE_OK;
  };
  vfs_->xGetLastError = [](sqlite3_vfs*, int, char*) { return 0; };
  sqlite3_vfs_register(vfs_.get(), 1);
  sqlite3_randomness(0, nullptr);  // SQLite's generator starts again, seeded by ours
}

SimulatedDisk::~SimulatedDisk() {
  sqlite3_vfs_unregister(vfs_.get());
  sqlite3_vfs_register(sqlite3_vfs_find("unix"), 1);
}

void SimulatedDisk::plan(std::uint64_t operation, Fault fault, std::uint64_t count) {
  fault_ = fault;
  fault_from_ = operation;
  fault_count_ = count;
  faults_met_ = 0;
}

int SimulatedDisk::begin(Fault kind) {
  const auto code = [&] {
    return kind == Fault::sync_error    ? SQLITE_IOERR_FSYNC
           : kind == Fault::write_error ? SQLITE_IOERR_WRITE
                                        : SQLITE_IOERR;
  };
  if (stopped_) return code();
  if (on_operation) on_operation();
  ++operations_;
  if (fault_ == Fault::none || operations_ < fault_from_) return SQLITE_OK;
  if (fault_ == Fault::power_cut || fault_ == Fault::process_end) {
    stop(fault_);
    return code();
  }
  const bool hit = fault_ == kind || (fault_ == Fault::full && kind == Fault::write_error);
  if (!hit || faults_met_ == fault_count_) return SQLITE_OK;
  ++faults_met_;
  return fault_ == Fault::full ? SQLITE_FULL : code();
}

void SimulatedDisk::stop(Fault how) {
  stopped_ = true;
  stopped_by_ = how;
}

void SimulatedDisk::survive(Node& node) {
  const auto how = below(5);
  const std::size_t prefix = below(node.unsynced.size() + 1);
  for (std::size_t at = 0; at < node.unsynced.size(); ++at) {
    const Change& change = node.unsynced[at];
    const bool kept = how == 0 ? false : how == 1 ? true : how == 2 ? at < prefix : below(2) == 0;
    if (how < 4 || change.kind == Change::Kind::truncate) {
      if (kept) change_bytes(node.on_disk, change);
      continue;
    }
    // Each sector of the write survives or not, independently.
    for (std::size_t from = 0; from < change.bytes.size();) {
      const std::size_t to =
          std::min(change.bytes.size(),
                   (change.at + from) / sector_bytes * sector_bytes + sector_bytes - change.at);
      if (below(2) == 0)
        change_bytes(node.on_disk, {Change::Kind::write,
                                    change.at + from,
                                    {change.bytes.begin() + std::ptrdiff_t(from),
                                     change.bytes.begin() + std::ptrdiff_t(to)}});
      from = to;
    }
  }
}

std::map<std::string, SimulatedDisk::Bytes> SimulatedDisk::files() const {
  std::map<std::string, Bytes> files;
  for (const auto& [name, node] : folder_) files[name] = node->now;
  return files;
}

void SimulatedDisk::set_files(const std::map<std::string, Bytes>& files) {
  folder_.clear();
  for (const auto& [name, bytes] : files) {
    folder_[name] = std::make_shared<Node>();
    folder_[name]->now = folder_[name]->on_disk = bytes;
  }
  folder_on_disk_ = folder_;
}

SimulatedDisk::Bytes& SimulatedDisk::bytes_of(const std::string& name) {
  return folder_.at(name)->now;
}

void SimulatedDisk::restart() {
  if (stopped_by_ == Fault::power_cut) {
    auto survivors = folder_on_disk_;
    for (const auto& [name, node] : folder_)
      // no difference if the entry is on the disk
      if (below(2) == 0) survivors.insert_or_assign(name, node);
    for (const auto& [name, node] : folder_on_disk_)
      if (!folder_.contains(name) && below(2) == 0) survivors.erase(name);
    folder_ = survivors;
    for (const auto& [name, node] : folder_) {
      survive(*node);
      node->now = node->on_disk;
      node->unsynced.clear();
    }
    folder_on_disk_ = folder_;
  }
  stopped_ = false;
  stopped_by_ = fault_ = Fault::none;
}

}  // namespace exchange::testing
