#pragma once
// A PostgreSQL cluster of the test's own: initdb in a temporary folder, reached only by a socket in
// that folder. The destructor stops and removes it.

#include <sys/types.h>

#include <string>
#include <vector>

namespace exchange::testing {

class PostgresCluster {
 public:
  // `parent`: where its folder is made; empty: with other temporary files. `small`: uses as little
  // disk space as possible.
  explicit PostgresCluster(const std::string& parent = {}, bool small = false);
  // Makes a standby of `primary`, which streams from it.
  explicit PostgresCluster(const PostgresCluster& primary);
  ~PostgresCluster();
  PostgresCluster& operator=(const PostgresCluster&) = delete;

  // Creates a new, empty database of this cluster.
  std::string create_database();
  void start();
  // stop() works as an administrator would (fast), kill() as a power cut would (every process at
  // once).
  void stop();
  void kill();
  // Sends kill -9 to the first process alone: the others have to notice.
  void kill_postmaster();
  // Sends SIGSTOP and SIGCONT to all processes.
  void freeze();
  void thaw();
  // Starts it if it is not running; tries again while remains of its predecessor exist.
  void start_again();
  bool running() const;
  // Makes a standby a primary.
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
  void control(const std::string& words) const;
  std::string folder_, binaries_, newest_;
  int databases_ = 0;
};

// Returns the URL of a database of the first cluster, with the other as a second host.
std::string url_of_both(const std::string& database_url, const PostgresCluster& other);

// Returns the cluster that all test cases of this process share; starts it at the first call.
PostgresCluster& shared_cluster();

}  // namespace exchange::testing
