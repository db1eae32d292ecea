#pragma once
// A disk in memory that is SQLite's default VFS while it lives. It knows what was synced and what
// was only written. At a power cut it keeps of the unsynced writes what a real disk might: nothing,
// all, a prefix, any writes, torn sectors; of files that were made or removed without a sync of
// their folder, it keeps any. It fails operations as planned. A sector of 512 bytes is written
// whole or not at all, as disks promise. A failed sync is as on Linux: some of the written bytes
// are lost, and the next sync succeeds. All choices come from the seed. One thread, one process.

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

  // Counts operations that change something: writes, truncations, syncs, new and removed files.
  std::uint64_t operations() const { return operations_; }
  // From the operation with that number on, the next `count` operations of the kind that the fault
  // affects fail. After a power cut or the end of the process everything fails until restart().
  void plan(std::uint64_t operation, Fault fault, std::uint64_t count = 1);
  bool stopped() const { return stopped_; }
  Fault stopped_by() const { return stopped_by_; }
  // Stops the disk now, by a power cut or the end of the process.
  void stop(Fault how);
  // Counts faults that were met since the plan was made.
  std::uint64_t faults_met() const { return faults_met_; }
  // Requires: no file is open. The files then hold only what survived.
  void restart();
  // The files by name. set_files() requires that no file is open.
  std::map<std::string, Bytes> files() const;
  void set_files(const std::map<std::string, Bytes>& files);
  // The bytes of a file, which may be open: the next reader of it gets them.
  Bytes& bytes_of(const std::string& name);
  // Returns whether the disk is full for a write to a file (an empty name: a temporary file); empty
  // function: never.
  std::function<bool(const std::string& name)> full;
  // Returns whether reading a file from `at` to `end` fails; empty function: never.
  std::function<bool(const std::string& name, std::uint64_t at, std::uint64_t end)> unreadable;
  // Called before every operation that changes something.
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
  // Counts the operation; returns the code with which it fails.
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
