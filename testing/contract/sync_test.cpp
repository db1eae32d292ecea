// When SQLite syncs its files, counted by a VFS between SQLite and the default one.

#include <sqlite3.h>

#include <map>
#include <mutex>

#include "catch.hpp"
#include "store/sqlite_store.hpp"
#include "support/folder.hpp"

using namespace exchange;
using namespace exchange::testing;

namespace {

// Stays registered as the default VFS. Its files are those of SQLite's VFS; only xSync differs.
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
      if (fresh) self.syncs_of_[&methods->second] = file->pMethods->xSync;
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
  // Syncs of files with this name so far.
  int syncs(const std::string& name) {
    const std::lock_guard lock(mutex_);
    return counts_[name];
  }

 private:
  static int sync(sqlite3_file* file, int flags) {
    CountingFiles& self = instance();
    int (*real)(sqlite3_file*, int) = nullptr;
    {
      const std::lock_guard lock(self.mutex_);
      ++self.counts_[self.names_[file]];
      real = self.syncs_of_[file->pMethods];
    }
    return real(file, flags);
  }

  sqlite3_vfs* const base_;
  sqlite3_vfs counting_;
  std::mutex mutex_;
  std::map<const sqlite3_io_methods*, sqlite3_io_methods> methods_;  // ours by SQLite's
  std::map<const sqlite3_io_methods*, int (*)(sqlite3_file*, int)> syncs_of_;
  std::map<sqlite3_file*, std::string> names_;
  std::map<std::string, int> counts_;
};

}  // namespace

TEST_CASE("SQLite syncs its journal before append returns, and its tables at checkpoints") {
  TemporaryFolder folder;
  const std::string path = folder / "x.db";
  CountingFiles& files = CountingFiles::instance();
  SqliteStore store(path);
  store.open();
  for (BatchNumber batch = 1; batch <= 5; ++batch) {
    const int before = files.syncs(path + ".journal-wal");
    store.append(batch, "payload");
    CHECK(files.syncs(path + ".journal-wal") > before);
  }
  const int tables = files.syncs(path), log = files.syncs(path + "-wal");
  store.project(Rows{}, 5);
  store.prune(4);
  CHECK(files.syncs(path + "-wal") > log);
  CHECK(files.syncs(path) > tables);
}
