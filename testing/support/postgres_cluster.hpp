#pragma once
// A PostgreSQL cluster of the test's own: initdb in a temporary folder, reached by a socket in it
// only. Ended and removed by the destructor.

#include <sys/types.h>

#include <string>
#include <vector>

namespace exchange::testing {

class PostgresCluster {
 public:
  // `parent`: where its folder is made; empty: with other temporary files. `small`: as little disk
  // as it goes.
  explicit PostgresCluster(const std::string& parent = {}, bool small = false);
  // A standby of `primary`, which streams from it.
  explicit PostgresCluster(const PostgresCluster& primary);
  ~PostgresCluster();
  PostgresCluster& operator=(const PostgresCluster&) = delete;

  // A new, empty database of this cluster.
  std::string create_database();
  void start();
  // As an administrator would (fast), or as a power cut would (every process at once).
  void stop();
  void kill();
  // kill -9 of the first process alone: the others have to notice.
  void kill_postmaster();
  // SIGSTOP and SIGCONT of all processes.
  void freeze();
  void thaw();
  // Starts it if it is not running; tries again while remains of its predecessor are there.
  void start_again();
  bool running() const;
  // Makes a primary of a standby.
  void promote();
  // Sets synchronous_standby_names, and returns when all backends have it.
  void replicate_to(const std::string& standbys);
  const std::string& folder() const { return folder_; }
  // The socket in the file system that clients connect to.
  std::string socket_path() const { return folder_ + "/.s.PGSQL.5432"; }
  const std::string& newest_database() const { return newest_; }

 private:
  void make_folder(const std::string& parent);
  pid_t postmaster() const;
  std::vector<pid_t> processes() const;
  std::string run_as_owner(const std::string& command) const;
  std::string folder_, binaries_, newest_;
  int databases_ = 0;
};

// The URL of a database of the first, with the other as a second host.
std::string url_of_both(const std::string& database_url, const PostgresCluster& other);

// The cluster that all test cases of this process share; started when first asked for.
PostgresCluster& shared_cluster();

}  // namespace exchange::testing
