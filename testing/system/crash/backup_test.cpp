// A backup that is taken while the server trades: a server starts on it, and has everything that
// was acknowledged before.

#include "system/crash/trial.hpp"

using namespace exchange;
using namespace exchange::testing;

TEST_CASE("a backup of a server under load has every order that was acknowledged before it") {
  TemporaryFolder folder;
  Trial trial("sqlite:" + folder / "x.db", 50, {"--journal-batches-kept", "10"});
  const auto trade = [&](ServerProcess& server) {
    trial.load.start(server.port());
    CHECK(trial.load.await_replies(1'000));
  };
  {
    const auto server = trial.start();
    trade(*server);
    server->kill();
    trial.load.join();
  }
  trial.load.write(folder / "acknowledged");
  const std::string before = std::to_string(trial.load.acknowledged());
  const auto server = trial.start();
  trade(*server);
  const RunResult result =
      run_program("exchange-audit", {"sqlite:" + folder / "x.db", "--backup", folder / "backup",
                                     "--acknowledged", folder / "acknowledged"});
  INFO(result.output);
  CHECK(result.status == 0);
  CHECK_THAT(result.output, contains_text("acknowledged orders found: " + before + "\n"));
  CHECK(trial.load.await_replies(200));  // service continues
  server->kill();
  trial.verify();
  ServerProcess restored({"--store", "sqlite:" + folder / "backup/x.db"});
  CHECK(restored.stop() == 0);
}
