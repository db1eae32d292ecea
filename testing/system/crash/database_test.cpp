// The database fails under a server that survives: it is restarted, killed in parts and as a whole,
// frozen, out of disk space, or cut off during a commit. The server holds every reply meanwhile and
// continues by itself, and every acknowledged command is there once.

#include <csignal>

#include "store/postgres/pqxx_shim.hpp"
#include "support/postgres_cluster.hpp"
#include "system/crash/cut_proxy.hpp"
#include "system/crash/trial.hpp"

using namespace exchange;
using namespace exchange::testing;

namespace {

constexpr int clients = 16;

// Runs load, a failure that `fail` causes and ends, and load again on the same server; then a kill
// -9 and the audit.
template <class Fail>
void ride_out(Trial& trial, Fail fail) {
  const auto server = trial.start();
  trial.load.start(server->port());
  CHECK(trial.load.await_replies(500));
  fail(*server);
  CHECK(trial.load.await_replies(500));
  CHECK(!server->ended());
  server->kill();
  trial.verify();
}

void await_notice(const ServerProcess& server, std::size_t failures = 1) {
  CHECK(await([&] {
    std::size_t found = 0;
    const std::string log = server.log();
    for (std::size_t at = 0; (at = log.find("the store is unavailable", at)) != std::string::npos;
         ++at)
      ++found;
    return found >= failures;
  }));
}

// Returns whether this is a nightly run; if not, prints what is skipped.
bool only_at_night(const char* what) {
  if (!nightly()) std::printf("skipped %s: only with EXCHANGE_NIGHTLY=1\n", what);
  return nightly();
}

// Returns the process ids of the server's connections.
std::vector<pid_t> backends(const std::string& url) {
  std::vector<pid_t> pids;
  pqxx::connection admin(url);
  for (const auto& row : pqxx::nontransaction(admin).exec(
           "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND "
           "application_name = 'exchange'"))
    pids.push_back(row[0].as<pid_t>());
  return pids;
}

std::string through(const CutProxy& proxy, const PostgresCluster& cluster) {
  return "postgresql://exchange@" + proxy.address() + "/" + cluster.newest_database();
}

}  // namespace

TEST_CASE("PostgreSQL is restarted under load", "[database]") {
  PostgresCluster& cluster = shared_cluster();
  Trial trial(cluster.create_database(), clients);
  ride_out(trial, [&](ServerProcess& server) {
    cluster.stop();
    await_notice(server);
    cluster.start();
  });
  if (!only_at_night("PostgreSQL ended as by a power cut")) return;
  ride_out(trial, [&](ServerProcess& server) {
    cluster.kill();
    await_notice(server);
    cluster.start();
  });
}

TEST_CASE("the server's connections to PostgreSQL are ended, and their processes killed",
          "[database]") {
  PostgresCluster& cluster = shared_cluster();
  const std::string url = cluster.create_database();
  Trial trial(url, clients);
  ride_out(trial, [&](ServerProcess& server) {
    pqxx::connection admin(url);
    pqxx::nontransaction(admin).exec(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = "
        "'exchange'");
    await_notice(server);
  });
  if (!only_at_night("kill -9 of the processes behind the server's connections")) return;
  ride_out(trial, [&](ServerProcess& server) {
    // PostgreSQL then restarts all of its processes
    for (const pid_t pid : backends(url)) ::kill(pid, SIGKILL);
    await_notice(server);
  });
}

TEST_CASE("PostgreSQL's first process is killed", "[database]") {
  PostgresCluster& cluster = shared_cluster();
  Trial trial(cluster.create_database(), clients);
  ride_out(trial, [&](ServerProcess& server) {
    cluster.kill_postmaster();
    await_notice(server);
    cluster.start_again();
  });
}

TEST_CASE("PostgreSQL stands still: nothing is acknowledged meanwhile", "[database]") {
  PostgresCluster& cluster = shared_cluster();
  Trial trial(cluster.create_database(), clients);
  ride_out(trial, [&](ServerProcess&) {
    cluster.freeze();
    const std::uint64_t before = trial.load.replies();
    std::this_thread::sleep_for(std::chrono::seconds(nightly() ? 60 : 3));  // the failure itself
    // Replies to batches committed before the freeze may still come: each client waits for one
    // reply.
    CHECK(trial.load.replies() <= before + 2 * clients);
    cluster.thaw();
  });
}

TEST_CASE("PostgreSQL's disk is full, and freed", "[database]") {
  SmallDisk disk(128);
  if (!disk.why_not().empty()) {
    std::printf("skipped: %s\n", disk.why_not().c_str());
    return;
  }
  PostgresCluster cluster(disk.path(), true);
  Trial trial(cluster.create_database(), clients);
  ride_out(trial, [&](ServerProcess& server) {
    disk.fill();
    await_notice(server);
    disk.free();
    const std::uint64_t before = trial.load.replies();
    CHECK(await([&] {
      // without space for its log PostgreSQL ends, maybe only now
      if (!cluster.running()) cluster.start_again();
      return trial.load.replies() >= before + 500;
    }));
  });
}

TEST_CASE("the disk of a SQLite store is full, and freed", "[database]") {
  SmallDisk disk(64);
  if (!disk.why_not().empty()) {
    std::printf("skipped: %s\n", disk.why_not().c_str());
    return;
  }
  Trial trial("sqlite:" + disk.path() + "/x.db", clients);
  ride_out(trial, [&](ServerProcess& server) {
    disk.fill();
    await_notice(server);
    disk.free();
  });
}

TEST_CASE("the network to PostgreSQL is cut amid a commit", "[database]") {
  PostgresCluster& cluster = shared_cluster();
  cluster.create_database();
  CutProxy proxy(cluster.socket_path());
  Trial trial(through(proxy, cluster), clients);
  const auto server = trial.start();
  trial.load.start(server->port());
  std::size_t cuts = 0;
  for (int round = 0; round < (nightly() ? 10 : 1); ++round)
    for (const CutProxy::How how :
         {CutProxy::How::reset, CutProxy::How::half_open, CutProxy::How::silent})
      for (const CutProxy::When when :
           {CutProxy::When::before_commit, CutProxy::When::after_commit}) {
        INFO("cut " << cuts << ": how " << int(how) << " when " << int(when));
        CHECK(trial.load.await_replies(200));
        proxy.cut(when, how);
        CHECK(await([&] { return proxy.was_cut(); }));
        if (how != CutProxy::How::reset) {
          const std::uint64_t before = trial.load.replies();
          // the failure itself
          std::this_thread::sleep_for(std::chrono::milliseconds(nightly() ? 5'000 : 300));
          CHECK(trial.load.replies() <= before + clients);
        }
        proxy.mend();
        ++cuts;
        await_notice(*server, cuts);
      }
  CHECK(trial.load.await_replies(500));
  server->kill();
  trial.verify();
}
