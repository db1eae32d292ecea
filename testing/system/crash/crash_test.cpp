// The server dies, by kill -9 under many clients and at every fail point. Every acknowledged
// command is there afterwards, exactly once; every other command is there at most once; and the
// store is sound. So it is with a backup that is taken while the server trades.

#include <cstdio>

#include "base/fail_point.hpp"
#include "support/postgres_cluster.hpp"
#include "system/crash/trial.hpp"

using namespace exchange;
using namespace exchange::testing;

namespace {

constexpr int killed = 128 + 9;

void kill_under_load(const std::string& store, int rounds,
                     std::vector<std::string> options = {"--keep-journal"}) {
  Trial trial(store, 200, std::move(options));
  if (nightly()) rounds = 20;
  for (int round = 0; round < rounds; ++round) {
    const auto server = trial.start();
    CHECK(trial.load.disagreement(server->port()) == "");
    trial.start_clients(*server);
    CHECK(trial.load.await_replies(2'000 + test_seed() % 1'000));
    server->kill();
    trial.verify();
  }
  CHECK(trial.load.acknowledged() > 1'000);
  if (trial.follows()) CHECK(trial.judge_events() > 4);
}

void await_fail_point(const ServerProcess& server, const std::string& name) {
  const std::string line = "fail point " + name + " is reached";
  CHECK(await([&] { return server.log().find(line) != std::string::npos; }));
}

bool is_of(const FailPointPlace& place, const std::string& part) {
  return place.name.starts_with(part + ".");
}

// Returns the setting that leads a server to this place, under load, and makes it do `action`
// there.
std::string arming(const FailPointPlace& place, const std::string& action) {
  const std::string armed = std::string(place.name) + "=" + action;
  if (is_of(place, "resolve")) return "append.after_commit=error@20," + armed;
  if (is_of(place, "append") || is_of(place, "reply")) return armed + "@20";
  if (is_of(place, "projection")) return armed + "@3";
  return armed;
}

// Sends enough orders to reach every place: checkpoints and prunes happen after some thousand pages
// and batches.
void crash_at(const FailPointPlace& place, Trial& trial) {
  INFO("fail point " << place.name);
  if (is_of(place, "recovery") || is_of(place, "start")) {
    {  // something to replay: the tables lag behind
      const Environment hang("EXCHANGE_FAIL_POINT", "projection.before=hang@2");
      const auto server = trial.start();
      trial.start_clients(*server);
      CHECK(trial.load.await_replies(200));
      server->kill();
      trial.load.join();
    }
    const Environment crash("EXCHANGE_FAIL_POINT", arming(place, "crash"));
    CHECK(trial.status_of_start() == killed);
  } else {
    const Environment crash("EXCHANGE_FAIL_POINT", arming(place, "crash"));
    const auto server = trial.start();
    CHECK_THAT(server->log(), contains_text("FAIL POINTS ARE ARMED: " + arming(place, "crash")));
    trial.start_clients(*server);
    CHECK(await([&] { return server->ended().has_value(); }));
    CHECK(server->ended() == killed);
    server->kill();
  }
  trial.verify();
}

// Checks that service continues by itself: clients get many more replies.
void fail_at(const FailPointPlace& place, Trial& trial) {
  INFO("fail point " << place.name);
  const Environment error("EXCHANGE_FAIL_POINT", arming(place, "error"));
  const auto server = trial.start();
  trial.start_clients(*server);
  await_fail_point(*server, std::string(place.name));
  CHECK(trial.load.await_replies(200));
  server->kill();
  trial.verify();
}

// Pruning needs a journal that is not kept; all other places are best checked with the whole
// journal.
void at_places(const std::vector<FailPointPlace>& places, const std::string& store,
               const std::string& pruned_store, void (*act)(const FailPointPlace&, Trial&)) {
  Trial trial(store, 8), pruned(pruned_store, 8, {"--journal-batches-kept", "10"});
  for (const FailPointPlace& place : places) act(place, is_of(place, "prune") ? pruned : trial);
  CHECK(trial.judge_events() > 4);
}

void at_places_of_sqlite(const std::vector<FailPointPlace>& places,
                         void (*act)(const FailPointPlace&, Trial&)) {
  TemporaryFolder folder;
  at_places(places, "sqlite:" + folder / "x.db", "sqlite:" + folder / "pruned.db", act);
}

// Every start on PostgreSQL takes some time: nightly runs test all places, others only those at
// which the two stores differ most.
void at_places_of_postgres(const std::vector<FailPointPlace>& places,
                           void (*act)(const FailPointPlace&, Trial&)) {
  std::vector<FailPointPlace> chosen;
  for (const FailPointPlace& place : places) {
    if (place.sqlite_only)
      std::printf("skipped %s: PostgreSQL does not come past it\n", place.name.data());
    else if (!nightly() && !is_of(place, "append") && !is_of(place, "resolve") &&
             place.name != "projection.before_commit" && place.name != "recovery.amid_replay")
      std::printf("skipped %s on PostgreSQL: only with EXCHANGE_NIGHTLY=1\n", place.name.data());
    else
      chosen.push_back(place);
  }
  const std::string store = shared_cluster().create_database();
  at_places(chosen, store, shared_cluster().create_database(), act);
}

// Returns all places that load reaches; those at the end of a day are in system/new_day_test.cpp.
std::vector<FailPointPlace> all_places() {
  std::vector<FailPointPlace> places(fail_points.begin(), fail_points.end());
  std::erase_if(places, [](const FailPointPlace& place) { return is_of(place, "day"); });
  return places;
}
std::vector<FailPointPlace> places_that_throw() {
  std::vector<FailPointPlace> places = all_places();
  std::erase_if(places, [](const FailPointPlace& place) { return !place.may_throw; });
  return places;
}

}  // namespace

TEST_CASE("what was acknowledged before a kill -9 under load is there after it, once, on SQLite",
          "[kill][sqlite]") {
  TemporaryFolder folder;
  kill_under_load("sqlite:" + folder / "x.db", 2);
  kill_under_load("sqlite:" + folder / "pruned.db", 1, {});
}

TEST_CASE(
    "what was acknowledged before a kill -9 under load is there after it, once, on PostgreSQL",
    "[kill][postgres]") {
  kill_under_load(shared_cluster().create_database(), 1);
}

TEST_CASE("a crash at any fail point loses and doubles nothing, on SQLite", "[points][sqlite]") {
  at_places_of_sqlite(all_places(), crash_at);
}

TEST_CASE("a crash at any fail point loses and doubles nothing, on PostgreSQL",
          "[points][postgres]") {
  at_places_of_postgres(all_places(), crash_at);
}

TEST_CASE("an error at any fail point that can fail is ridden out, on SQLite", "[points][sqlite]") {
  at_places_of_sqlite(places_that_throw(), fail_at);
}

TEST_CASE("an error at any fail point that can fail is ridden out, on PostgreSQL",
          "[points][postgres]") {
  at_places_of_postgres(places_that_throw(), fail_at);
}

// The tables stop right after a prune, while the journal continues: all rows that the tables need
// to catch up must be there.
TEST_CASE("nothing is pruned from the journal that is not in the tables", "[points]") {
  TemporaryFolder folder;
  for (const std::string& store :
       {"sqlite:" + folder / "x.db", shared_cluster().create_database()}) {
    INFO(store);
    Trial trial(store, 8, {"--journal-batches-kept", "0"});
    const Environment hang("EXCHANGE_FAIL_POINT", "prune.after=hang");
    const auto server = trial.start();
    trial.start_clients(*server);
    await_fail_point(*server, "prune.after");
    CHECK(trial.load.await_replies(300));
    server->kill();
    const Environment none("EXCHANGE_FAIL_POINT", "");
    trial.verify();
  }
}

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

TEST_CASE("an unknown fail point is refused at start, with the names of all", "[points]") {
  const auto refusal = [](const std::string& text) {
    const Environment environment("EXCHANGE_FAIL_POINT", text);
    const RunResult result = run_program("server", {"--store", "memory:", "--port", "0"});
    CHECK(result.status == 2);
    return result.output;
  };
  const std::string unknown = refusal("append.befor=crash");
  CHECK_THAT(unknown, contains_text("'append.befor=crash' is not a fail point"));
  for (const FailPointPlace& place : fail_points)
    CHECK_THAT(unknown, contains_text(std::string(place.name)));
  CHECK_THAT(refusal("append.before=explode"),
             contains_text("unknown action; the actions are crash, hang, slow(ms), error"));
  CHECK_THAT(refusal("append.before=crash@x"),
             contains_text("a number that is not a positive integer"));
  CHECK_THAT(refusal("reply.before_send=error"), contains_text("cannot throw"));
}
