// When the store writes and syncs its files, counted by a VFS above the default one.

#include <sqlite3.h>

#include <map>
#include <mutex>

#include "contract/places.hpp"
#include "support/stores.hpp"

using namespace exchange;
using namespace exchange::testing;

namespace {

// Stays registered as the default VFS. It opens the files of SQLite's VFS; only xWrite and xSync
// differ.
class CountingFiles {
 public:
  CountingFiles() : base_(sqlite3_vfs_find(nullptr)), counting_(*base_) {
    counting_.zName = "counting";
    counting_.xOpen = [](sqlite3_vfs*, const char* name, sqlite3_file* file, int flags, int* out) {
      CountingFiles& self = instance();
      const int code = self.base_->xOpen(self.base_, name, file, flags, out);
      if (code != SQLITE_OK || file->pMethods == nullptr) return code;
      const std::lock_guard lock(self.mutex_);
      self.names_[file] = name == nullptr ? "" : name;
      auto [methods, fresh] = self.methods_.try_emplace(file->pMethods, *file->pMethods);
      if (fresh) self.real_[&methods->second] = file->pMethods;
      methods->second.xWrite = write;
      methods->second.xSync = sync;
      file->pMethods = &methods->second;
      return code;
    };
    sqlite3_vfs_register(&counting_, 1);
  }
  static CountingFiles& instance() {
    static CountingFiles files;
    return files;
  }
  struct Counts {
    int writes = 0, syncs = 0;
  };
  // Returns the operations so far on files with this name.
  Counts counts(const std::string& name) {
    const std::lock_guard lock(mutex_);
    return counts_[name];
  }

 private:
  // Counts an operation and returns the methods of SQLite's VFS.
  const sqlite3_io_methods& count(sqlite3_file* file, int Counts::*operation) {
    const std::lock_guard lock(mutex_);
    ++(counts_[names_[file]].*operation);
    return *real_[file->pMethods];
  }
  static int write(sqlite3_file* file, const void* from, int amount, sqlite3_int64 offset) {
    return instance().count(file, &Counts::writes).xWrite(file, from, amount, offset);
  }
  static int sync(sqlite3_file* file, int flags) {
    return instance().count(file, &Counts::syncs).xSync(file, flags);
  }

  sqlite3_vfs* const base_;
  sqlite3_vfs counting_;
  std::mutex mutex_;
  std::map<const sqlite3_io_methods*, sqlite3_io_methods> methods_;      // ours by SQLite's
  std::map<const sqlite3_io_methods*, const sqlite3_io_methods*> real_;  // SQLite's by ours
  std::map<sqlite3_file*, std::string> names_;
  std::map<std::string, Counts> counts_;
};

}  // namespace

TEST_CASE("SQLite syncs its journal before append returns, and its tables at checkpoints") {
  TemporaryFolder folder;
  const std::string path = folder / "x.db";
  CountingFiles& files = CountingFiles::instance();
  SqliteStore store(path);
  store.open();
  for (BatchNumber batch = 1; batch <= 5; ++batch) {
    const int before = files.counts(path + ".journal").syncs;
    store.journal().append(batch, "payload");
    CHECK(files.counts(path + ".journal").syncs > before);
  }
  const int tables = files.counts(path).syncs, log = files.counts(path + "-wal").syncs;
  store.tables().project(Rows{}, 5);
  CHECK(files.counts(path + "-wal").syncs > log);
  prune(store, 4);
  CHECK(files.counts(path).syncs > tables);
}

TEST_CASE("a commit is one write to the journal, and one sync") {
  TemporaryFolder folder;
  const std::string path = folder / "x.db";
  SqliteStore store(path);
  CountingFiles::instance();
  store.open();
  store.journal().append(1, "payload");
  const auto count = [&] { return CountingFiles::instance().counts(path + ".journal"); };
  const auto before = count();
  store.journal().append(2, std::string(20'000, 'x'));
  CHECK(count().writes - before.writes == 1);
  CHECK(count().syncs - before.syncs == 1);
}

TEST_CASE("a projection is one write to the log, and one sync") {
  TemporaryFolder folder;
  const std::string path = folder / "x.db";
  SqliteStore store(path);
  CountingFiles::instance();
  store.open();
  store.tables().project(one_account(), 1);
  const auto count = [&] { return CountingFiles::instance().counts(path + "-wal"); };
  const auto before = count();
  store.tables().project(one_account(), 2);
  CHECK(count().writes - before.writes == 1);
  CHECK(count().syncs - before.syncs == 1);
}
