#include "support/postgres_cluster.hpp"

#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace exchange::testing {
namespace {

namespace fs = std::filesystem;

std::string run(const std::string& command) {
  std::string output;
  FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("cannot run " + command);
  char buffer[4096];
  for (std::size_t n; (n = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;)
    output.append(buffer, n);
  if (::pclose(pipe) != 0) throw std::runtime_error(command + " failed:\n" + output);
  return output;
}

// Debian keeps the programs of each version apart; this takes the newest.
std::string find_binaries() {
  std::string found;
  const fs::path versions = "/usr/lib/postgresql";
  if (fs::exists(versions))
    for (const auto& version : fs::directory_iterator(versions))
      if (fs::exists(version.path() / "bin/initdb"))
        found = std::max(found, (version.path() / "bin").string());
  if (found.empty())
    throw std::runtime_error("PostgreSQL is not installed: no initdb under /usr/lib/postgresql");
  return found;
}

// In memory, unless TMPDIR is set or memory is short: tests write a gigabyte that is not kept.
fs::path usual_parent() {
  std::error_code error;
  const bool has_room = fs::space("/dev/shm", error).available >= 4ull << 30 && !error;
  return has_room && std::getenv("TMPDIR") == nullptr ? "/dev/shm" : fs::temp_directory_path();
}

}  // namespace

void PostgresCluster::make_folder(const std::string& parent) {
  std::string name =
      ((parent.empty() ? usual_parent() : fs::path(parent)) / "exchange-pg-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
  folder_ = name;
  if (::geteuid() == 0) run("chown postgres " + folder_);
}

PostgresCluster::PostgresCluster(const std::string& parent, bool small)
    : binaries_(find_binaries()) {
  make_folder(parent);
  run_as_owner(binaries_ + "/initdb -D " + folder_ +
               "/data -U exchange -A trust -E UTF8 --no-locale --no-sync" +
               (small ? " --wal-segsize=1" : ""));
  std::ofstream(folder_ + "/data/postgresql.conf", std::ios::app)
      << "listen_addresses = ''\nunix_socket_directories = '"
      << folder_
      // Tests kill its processes, never its machine: what the kernel has is not lost.
      << "'\nmax_connections = 50\nlog_min_messages = panic\nfsync = off\n"
      << (small ? "min_wal_size = 2MB\nmax_wal_size = 8MB\n" : "");
  start();
}

PostgresCluster::PostgresCluster(const PostgresCluster& primary) : binaries_(find_binaries()) {
  make_folder({});
  run_as_owner(binaries_ + "/pg_basebackup -h " + primary.folder_ + " -U exchange -D " + folder_ +
               "/data -R -c fast --no-sync");
  std::ofstream(folder_ + "/data/postgresql.conf", std::ios::app)
      << "unix_socket_directories = '" << folder_ << "'\n";
  start();
}

PostgresCluster::~PostgresCluster() {
  if (running()) thaw();

  try {
    kill();
  } catch (const std::exception&) {  // was not running
  }
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

// PostgreSQL refuses to run as root.
std::string PostgresCluster::run_as_owner(const std::string& command) const {
  return run(::geteuid() == 0
                 ? "cd / && setpriv --reuid=postgres --regid=postgres --clear-groups " + command
                 : command);
}

void PostgresCluster::control(const std::string& words) const {
  run_as_owner(binaries_ + "/pg_ctl -D " + folder_ + "/data -w " + words);
}
void PostgresCluster::start() { control("-l " + folder_ + "/log -t 300 start"); }
void PostgresCluster::stop() { control("-m fast -t 300 stop"); }
void PostgresCluster::kill() { control("-m immediate stop"); }
void PostgresCluster::promote() { control("-t 60 promote"); }

pid_t PostgresCluster::postmaster() const {
  pid_t pid = 0;
  std::ifstream(folder_ + "/data/postmaster.pid") >> pid;
  return pid;
}

bool PostgresCluster::running() const {
  const pid_t pid = postmaster();
  return pid > 0 && ::kill(pid, 0) == 0;
}

// Returns the postmaster, then its children. If the caller has stopped the postmaster before, the
// list is complete: it starts no more processes.
std::vector<pid_t> PostgresCluster::processes() const {
  const pid_t first = postmaster();
  std::vector<pid_t> found{first};
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    std::string stat;
    std::getline(std::ifstream(entry.path() / "stat"), stat);
    if (const std::size_t at = stat.rfind(") ");
        at != std::string::npos && std::atoi(stat.c_str() + at + 4) == first)
      found.push_back(std::stoi(name));
  }
  return found;
}

void PostgresCluster::kill_postmaster() { ::kill(postmaster(), SIGKILL); }

void PostgresCluster::freeze() {
  ::kill(postmaster(), SIGSTOP);
  for (const pid_t pid : processes()) ::kill(pid, SIGSTOP);
}

void PostgresCluster::thaw() {
  for (const pid_t pid : processes()) ::kill(pid, SIGCONT);
}

void PostgresCluster::start_again() {
  constexpr int attempts = 60;
  for (int attempt = 1;; ++attempt) try {
      return start();
    } catch (const std::runtime_error&) {
      if (attempt == attempts) throw;
      ::usleep(500'000);
    }
}

void PostgresCluster::replicate_to(const std::string& standbys) {
  const std::string psql =
      binaries_ + "/psql -qAt -v ON_ERROR_STOP=1 -h " + folder_ + " -U exchange -d postgres -c ";
  run_as_owner(psql + "\"ALTER SYSTEM SET synchronous_standby_names = '" + standbys +
               "'\" -c \"SELECT pg_reload_conf()\"");
  while (run_as_owner(psql + "\"SHOW synchronous_standby_names\"") != standbys + "\n")
    ::usleep(10'000);
  ::usleep(100'000);  // the checkpointer publishes it to waiting backends
}

std::string url_of_both(const std::string& database_url, const PostgresCluster& other) {
  return database_url + "," + other.folder();
}

std::string PostgresCluster::create_database() {
  const std::string name = newest_ = "exchange" + std::to_string(++databases_);
  run_as_owner(binaries_ + "/createdb -h " + folder_ + " -U exchange " + name);
  return "postgresql://exchange@/" + name + "?host=" + folder_;
}

PostgresCluster& shared_cluster() {
  static PostgresCluster cluster;
  return cluster;
}

}  // namespace exchange::testing
