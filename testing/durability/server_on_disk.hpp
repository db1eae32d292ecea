#pragma once
// A server's core on a SimulatedDisk, without threads: the real SqliteStore, recovery and
// Committer, with projections and prunes in between, and the batches that were acknowledged. After
// a power cut it starts again and compares everything with what must be there: every batch whose
// commit returned, in order, and nothing else except possibly the batch in flight; and tables equal
// to those of an independent model.

#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "base/bursts.hpp"
#include "core/committer.hpp"
#include "core/recovery.hpp"
#include "durability/simulated_disk.hpp"
#include "model/random_commands.hpp"
#include "model/tables.hpp"
#include "store/sqlite/sqlite_store.hpp"
#include "support/clocks.hpp"
#include "support/faulty_store.hpp"
#include "support/folder.hpp"

namespace exchange::testing {

class ServerOnDisk {
 public:
  explicit ServerOnDisk(std::uint64_t seed);
  ~ServerOnDisk();

  // Opens, recovers, compares, commits `batches` batches and closes. Ends earlier if the disk
  // stops, or fails so that the server must stop. In every case the caller must call restart()
  // next.
  void run(int batches);
  // The next start finds what survived on the disk.
  void restart();

  SimulatedDisk disk;
  std::uint64_t acknowledged() const { return payloads_.size(); }
  std::uint64_t stops_for_failed_sync() const { return stops_for_failed_sync_; }
  std::uint64_t refused_starts() const { return refused_starts_; }
  std::uint64_t kept_in_flight() const { return kept_in_flight_; }

 private:
  struct Recorder;
  struct Stopped {};
  void start();
  void step();
  void project();
  void compare(BatchNumber projected_before);
  std::string path() const { return folder_ / "x.db"; }
  std::string lock_file() const { return contents(path() + ".lock"); }

  TemporaryFolder folder_;  // of the lock file only, which SQLite does not use
  std::string lock_on_disk_;
  std::mt19937_64 random_;
  RandomCommands commands_;
  ManualClock clock_;
  CoreLimits limits_;
  Metrics metrics_;
  std::unique_ptr<Recorder> store_;
  std::unique_ptr<Committer> committer_;
  BatchNumber projected_ = 0;
  // Half of the servers rest, and so sync, at each write of a projection.
  Bursts bursts_{std::chrono::nanoseconds(1)};
  const bool rests_;

  std::vector<std::string> payloads_;     // of every batch that must be there, from batch 1
  std::optional<std::string> in_flight_;  // of the batch whose commit has not returned
  bool starting_ = false;
  std::uint64_t stops_for_failed_sync_ = 0, refused_starts_ = 0, kept_in_flight_ = 0;
};

}  // namespace exchange::testing
