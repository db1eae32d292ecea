// PgBouncer between the exchange and PostgreSQL. A pooler that gives one session to several clients
// in turn would share the lock of a server with the next client.

#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "contract/places.hpp"
#include "support/wait_for.hpp"

using namespace exchange;
using namespace exchange::testing;

namespace {

constexpr const char* program = "/usr/sbin/pgbouncer";

// Returns whether PgBouncer can be used here; if not, prints why.
bool has_pooler() {
  if (::access(program, X_OK) == 0) return true;
  std::printf("skipped: PgBouncer is not installed (Debian: pgbouncer)\n");
  return false;
}

// PgBouncer in front of the shared cluster, on a socket in the cluster's folder.
class Pooler {
 public:
  explicit Pooler(const std::string& mode, const std::string& more = {}) {
    std::ofstream(path("users")) << "\"exchange\" \"\"\n";
    std::ofstream(path("ini")) << "[databases]\n* = host=" << folder_ << "\n[pgbouncer]\n"
                               << "pool_mode = " << mode << "\nlisten_port = 6432\n"
                               << "unix_socket_dir = " << folder_ << "\nauth_type = trust\n"
                               << "auth_file = " << path("users") << "\npidfile = " << path("pid")
                               << "\nlogfile = " << path("log") << "\n"
                               << more;
    const std::string as_owner =
        ::geteuid() == 0 ? "setpriv --reuid=postgres --regid=postgres --clear-groups " : "";
    // PgBouncer refuses to run as root. It goes to the background once it listens.
    const std::string command = as_owner + program + " --daemon --quiet " + path("ini");
    REQUIRE(std::system(command.c_str()) == 0);
    REQUIRE(wait_for([&] { return pid() > 0; }));
  }
  ~Pooler() {
    ::kill(pid(), SIGTERM);
    wait_for([&] { return pid() == 0; });
  }
  Pooler(const Pooler&) = delete;

  // Returns the URL that leads to a database of the cluster through PgBouncer.
  static std::string url(const std::string& database_url) { return database_url + "&port=6432"; }

 private:
  std::string path(const std::string& end) const { return folder_ + "/pooler." + end; }
  pid_t pid() const {
    pid_t pid = 0;
    std::ifstream(path("pid")) >> pid;
    return pid;
  }
  const std::string folder_ = shared_cluster().folder();
};

const std::string what_to_do = "name PostgreSQL itself in --store, or set pool_mode = session";

// Returns the message that the operator reads; empty if nothing is thrown.
template <class Work>
std::string refusal(Work work) {
  try {
    work();
  } catch (const StoreCorrupt& error) {
    return error.what();
  }
  return {};
}

}  // namespace

TEST_CASE("a pooler that shares sessions among its clients is refused, and no lock is left in it") {
  if (!has_pooler()) return;
  const std::string mode = GENERATE("transaction", "statement"),
                    more = GENERATE("", "server_round_robin = 1\nmin_pool_size = 5\n");
  CAPTURE(mode, more);
  const std::string direct = shared_cluster().create_database();
  const Pooler pooler(mode, more);
  PostgresStore active(Pooler::url(direct)), standby(Pooler::url(direct));
  CHECK_THAT(refusal([&] { active.open(); }), contains_text(what_to_do));
  CHECK_THAT(refusal([&] { standby.attach(); }), contains_text(what_to_do));
  CHECK(PostgresStore(direct).try_open());
}

TEST_CASE("a pooler with sessions of its clients' own serves one server, until it shares them") {
  if (!has_pooler()) return;
  const std::string direct = shared_cluster().create_database(), pooled = Pooler::url(direct);
  PostgresStore store(pooled);
  {
    const Pooler pooler("session");
    store.open();
    store.tables().load();
    store.journal().append(1, "payload");
    CHECK_FALSE(PostgresStore(pooled).try_open());
    CHECK_FALSE(PostgresStore(direct).try_open());
  }
  const Pooler pooler("transaction");
  CHECK_THROWS_AS(store.journal().append(2, "payload"), StoreUnavailable);
  CHECK_THAT(refusal([&] { store.journal().resolve_in_doubt(2); }), contains_text(what_to_do));
}
