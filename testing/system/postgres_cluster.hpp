#pragma once
// A PostgreSQL cluster of the test's own: initdb in a temporary folder, reached by a socket in it only.
// Ended and removed by the destructor.

#include <sys/types.h>

#include <string>

namespace exchange::testing {

class PostgresCluster {
 public:
  PostgresCluster();
  ~PostgresCluster();
  PostgresCluster(const PostgresCluster&) = delete;
  PostgresCluster& operator=(const PostgresCluster&) = delete;

  // A new, empty database of this cluster.
  std::string create_database();
  void start();
  // As an administrator would (fast), or as a power cut would (every process at once).
  void stop();
  void kill();

 private:
  std::string run_as_owner(const std::string& command) const;
  std::string folder_, binaries_;
  int databases_ = 0;
};

// The cluster that all test cases of this process share; started when first asked for.
PostgresCluster& shared_cluster();

// A temporary folder, removed with what is in it.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace exchange::testing
