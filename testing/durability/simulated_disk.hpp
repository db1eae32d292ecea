#pragma once
// A disk in memory, as SQLite's default VFS while it lives: it knows what was synced and what was
// only written, and at a power cut keeps of the latter what a real disk might: nothing, all, a
// prefix, any writes, torn sectors; of files that were made or removed without a sync of their
// folder, any. It fails operations as planned. A sector of 512 bytes is written whole or not at
// all, as disks promise. A failed sync is as on Linux: some of what was written is lost, and the
// next sync succeeds. Everything comes from the seed. One thread, one process.

#include <sqlite3.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace exchange::testing {

class SimulatedDisk {
 public:
  using Bytes = std::vector<unsigned char>;
  enum class Fault { none, power_cut, process_end, write_error, full, sync_error };

  explicit SimulatedDisk(std::uint64_t seed);
  ~SimulatedDisk();
  SimulatedDisk(const SimulatedDisk&) = delete;

  // Operations that change something: writes, truncations, syncs, new and removed files.
  std::uint64_t operations() const { return operations_; }
  // From the operation of that number on, `count` operations of the kind that the fault hits fail.
  // After a power cut or the end of the process everything fails until restart().
  void plan(std::uint64_t operation, Fault fault, std::uint64_t count = 1);
  bool stopped() const { return stopped_; }
  Fault stopped_by() const { return stopped_by_; }
  // A power cut or the end of the process, now.
  void stop(Fault how);
  // Faults that were met since the plan was made.
  std::uint64_t faults_met() const { return faults_met_; }
  // Once nothing has a file open: what survives is what the files hold now.
  void restart();
  // The files by name. Setting them needs that nothing has one open.
  std::map<std::string, Bytes> files() const;
  void set_files(const std::map<std::string, Bytes>& files);
  // Of a file that may be open: what the next reader of it gets.
  Bytes& bytes_of(const std::string& name);
  // Whether a write that would bring a file (no name: a temporary one) to so many bytes finds the
  // disk full.
  std::function<bool(const std::string& name, std::uint64_t bytes)> full;
  std::uint64_t used() const;  // bytes of all files that have a name
  // Whether reading a file from `at` to `end` fails; empty: never.
  std::function<bool(const std::string& name, std::uint64_t at, std::uint64_t end)> unreadable;
  // Before every operation.
  std::function<void()> on_operation;

  struct Change {
    enum class Kind { write, truncate } kind;
    std::uint64_t at;  // offset, or the new size
    Bytes bytes;
  };
  struct Node;
  struct File;

 private:
  friend struct SimulatedDiskMethods;
  std::uint64_t below(std::uint64_t end) { return random_() % end; }
  // Counts; the code with which the operation fails.
  int begin(Fault kind);
  void survive(Node& node);

  std::mt19937_64 random_;
  std::map<std::string, std::shared_ptr<Node>> folder_, folder_on_disk_;
  std::uint64_t operations_ = 0, fault_from_ = 0, fault_count_ = 0, faults_met_ = 0;
  Fault fault_ = Fault::none, stopped_by_ = Fault::none;
  bool stopped_ = false;
  std::unique_ptr<sqlite3_vfs> vfs_;
};

}  // namespace exchange::testing
