// `exchange-cli admin new-day`: the store is closed as a day, and an empty store takes its place,
// in the same process and on the same ports; a crash leaves one or the other.

#include <signal.h>

#include <filesystem>
#include <fstream>

#include "base/fail_point.hpp"
#include "catch.hpp"
#include "support/folder.hpp"
#include "support/postgres_cluster.hpp"
#include "support/server_process.hpp"
#include "support/tcp_client.hpp"
#include "support/wait_for.hpp"

using namespace exchange;
using namespace exchange::testing;

namespace {

namespace fs = std::filesystem;

const std::string day = "2026-11-26", of_operator = "key='operator-1'";

// A store, and the files of its operator.
struct Place {
  explicit Place(bool postgres = false)
      : store(postgres ? shared_cluster().create_database() : "sqlite:" + folder / "x.db"),
        closed(postgres ? store + (store.find('?') == std::string::npos ? "?" : "&") +
                              "options=-csearch_path%3Dday_2026_11_26"
                        : "sqlite:" + folder / "x.db.days/2026-11-26/x.db") {
    std::ofstream(key) << "operator-1\n";
    fs::permissions(key, fs::perms::owner_read | fs::perms::owner_write);
    std::ofstream(scenario) << "<!-- the second day -->\n"
                               "<create><account id='1' balance='50' key='secret-of-1'/>\n"
                               "<symbol sym='NEW'><account id='1'>7</account></symbol>\n"
                               "<instrument sym='NEW' tick='0.05'/></create>\n";
  }
  std::vector<std::string> options(const std::string& of_store) const {
    return {"--store", of_store,      "--auth", "--operator-key-file",
            key,       "--http-port", "0",      "--keep-journal"};
  }
  ServerProcess start() const { return ServerProcess(options(store)); }
  std::vector<std::string> words(const ServerProcess& server, const std::string& key_file,
                                 const std::vector<std::string>& more = {}) const {
    std::vector<std::string> all{"--connect",
                                 "127.0.0.1:" + std::to_string(server.port()),
                                 "--http",
                                 "127.0.0.1:" + std::to_string(server.http_port()),
                                 "--operator-key-file",
                                 key_file,
                                 "admin",
                                 "new-day",
                                 day};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  RunResult new_day(const ServerProcess& server, const std::vector<std::string>& more = {}) const {
    return run_program("exchange-cli", words(server, key, more));
  }
  RunResult new_day_with_scenario(const ServerProcess& server) const {
    return new_day(server, {"--scenario", scenario});
  }

  const TemporaryFolder folder;
  const std::string store, closed, key = folder / "operator.key", scenario = folder / "scenario";
};

std::string transactions(const std::string& children, const std::string& account = "1") {
  return "<transactions id='" + account + "' key='secret-of-" + account + "'>" + children +
         "</transactions>";
}

// Two accounts, one execution, and an order that stays open.
void trade_first_day(const ServerProcess& server) {
  TcpClient client(server.port());
  REQUIRE_THAT(client.request("<create " + of_operator +
                              "><account id='1' balance='1000' key='secret-of-1'/>"
                              "<account id='2' balance='0' key='secret-of-2'/>"
                              "<symbol sym='OLD'><account id='2'>10</account></symbol></create>"),
               !contains_text("<error"));
  REQUIRE_THAT(client.request(transactions("<order sym='OLD' amount='-4' limit='9'/>", "2")),
               contains_text("id=\"1\""));
  REQUIRE_THAT(client.request(transactions("<order sym='OLD' amount='6' limit='9'/>")),
               contains_text("id=\"2\""));
}

void check_first_day(TcpClient& client) {
  CHECK_THAT(client.request(transactions("<query id='2'/>")),
             contains_text("<open shares=\"2\"/><executed shares=\"4\" price=\"9\""));
}

// Checks that the scenario was executed once, and nothing else.
void check_second_day(TcpClient& client) {
  CHECK_THAT(client.request(transactions("<order sym='NEW' amount='-8' limit='9'/>")),
             contains_text("insufficient shares"));
  CHECK_THAT(client.request(transactions("<order sym='NEW' amount='-7' limit='9'/>")),
             contains_text("id=\"1\""));
  CHECK_THAT(client.request(transactions("<order sym='NEW' amount='1' limit='1.01'/>")),
             contains_text("tick"));
}

// Checks that a server on the closed store shows the final state of the day.
void check_closed(const Place& place) {
  ServerProcess again(place.options(place.closed));
  TcpClient client(again.port());
  check_first_day(client);
  CHECK_THAT(ask_http(again.http_port(), "GET /api/trades?sym=OLD"),
             contains_text("\"shares\":\"4\""));
  CHECK(again.stop() == 0);
}

// Checks the closed store, and that both stores are sound. Requires: their servers have ended.
void check_stores(const Place& place) {
  check_closed(place);
  for (const std::string& store : {place.store, place.closed}) {
    const RunResult audit = run_program("exchange-audit", {store});
    INFO(audit.output);
    CHECK(audit.status == 0);
  }
}

}  // namespace

TEST_CASE("new-day closes the store as a day, and the same process goes on with an empty one") {
  const Place place(GENERATE(false, true));
  INFO(place.store);
  ServerProcess server = place.start();
  trade_first_day(server);
  TcpClient client(server.port());
  check_first_day(client);

  const RunResult ended = place.new_day_with_scenario(server);
  INFO(ended.output);
  CHECK(ended.status == 0);
  CHECK_THAT(ended.output, contains_text("day 2026-11-26: closed as "));
  CHECK_THAT(ended.output, contains_text(": 3 of 3 created"));
  CHECK_FALSE(server.ended());
  CHECK(client.rest() == "");
  TcpClient next(server.port());
  check_second_day(next);
  CHECK_THAT(ask_http(server.http_port(), "GET /api/symbols"), !contains_text("OLD"));
  CHECK_THAT(ask_http(server.http_port(), "GET /api/days"), contains_text("\"whole\":true"));
  CHECK_THAT(ask_http(server.http_port(), "GET /api/moments?day=2026-11-26&sym=OLD&from=4"),
             contains_text("\"asks\":[[\"9\",\"4\",1]]"));

  check_closed(place);  // beside the server of the new day
  const RunResult again = place.new_day_with_scenario(server);
  CHECK(again.status == 1);
  CHECK_THAT(again.output, contains_text("the next day has begun: nothing was done"));
  CHECK(server.stop() == 0);
  check_stores(place);

  ServerProcess restarted = place.start();
  TcpClient after(restarted.port());
  CHECK_THAT(after.request(transactions("<query id='1'/>")), contains_text("<open shares=\"7\"/>"));
}

TEST_CASE("on a full disk no day is closed, and the server serves on") {
  SmallDisk disk(16);
  if (!disk.why_not().empty()) {
    WARN("skipped: " << disk.why_not());
    return;
  }
  const Place place;
  const std::string store = "sqlite:" + disk.path() + "/x.db";
  ServerProcess server(place.options(store));
  trade_first_day(server);
  disk.fill();
  const RunResult refused = place.new_day(server);
  INFO(refused.output);
  CHECK(refused.status == 1);
  CHECK_THAT(refused.output, contains_text("KiB free, and the store of the new day needs"));
  CHECK_FALSE(server.ended());
  TcpClient client(server.port());
  check_first_day(client);
  disk.free();
  CHECK(place.new_day(server).status == 0);
  CHECK_FALSE(server.ended());
  CHECK(server.stop() == 0);
}

TEST_CASE("a crash while a day is closed leaves the old day or the new one") {
  const bool postgres = GENERATE(false, true);
  for (const FailPointPlace& point : fail_points) {
    if (!point.name.starts_with("day.") || (postgres && point.sqlite_only)) continue;
    INFO(point.name << (postgres ? " on PostgreSQL" : " on SQLite"));
    const Place place(postgres);
    {
      const Environment crash("EXCHANGE_FAIL_POINT", std::string(point.name) + "=crash");
      ServerProcess server = place.start();
      trade_first_day(server);
      ChildProcess asking("exchange-cli", place.words(server, place.key));
      CHECK(wait_for([&] { return server.ended().has_value(); }));
      CHECK(server.ended() == 128 + SIGKILL);
      asking.end_with(SIGKILL);
    }
    ServerProcess server = place.start();
    TcpClient client(server.port());
    const bool is_old =
        point.name == "day.before" || (postgres && point.name == "day.before_commit");
    if (is_old)
      check_first_day(client);
    else
      CHECK_THAT(ask_http(server.http_port(), "GET /metrics"),
                 contains_text("exchange_journal_batch 0\n"));
    const RunResult ended = place.new_day_with_scenario(server);
    INFO(ended.output);
    CHECK(ended.status == 0);
    TcpClient next(server.port());
    check_second_day(next);
    CHECK(server.stop() == 0);
    check_stores(place);
  }
}

TEST_CASE("a power cut between the files of a day leaves a day that the next start completes") {
  const Place place;
  const Environment crash("EXCHANGE_FAIL_POINT", "day.amid_files=crash@2");
  {
    ServerProcess server = place.start();
    trade_first_day(server);
    place.new_day(server, {"--timeout", "0.1"});
    CHECK(wait_for([&] { return server.ended().has_value(); }));
  }
  const fs::path days = place.folder / "x.db.days";
  REQUIRE(fs::exists(days / (day + ".closing")));
  ::unsetenv("EXCHANGE_FAIL_POINT");

  // A file that exists twice was put there by hand: the server overwrites neither.
  std::ofstream(place.folder / "x.db.journal") << "restored";
  const RunResult refused = run_program("server", place.options(place.store));
  CHECK(refused.status == 1);
  CHECK_THAT(refused.output, contains_text("both exist"));
  fs::remove(place.folder / "x.db.journal");

  ServerProcess server = place.start();
  CHECK_FALSE(fs::exists(days / (day + ".closing")));
  CHECK(server.stop() == 0);
  check_stores(place);
}

TEST_CASE("a day that could not be closed is reported, and the old one goes on") {
  const Place place;
  const Environment error("EXCHANGE_FAIL_POINT", "day.before=error");
  ServerProcess server = place.start();
  trade_first_day(server);
  const RunResult failed = place.new_day(server);
  CHECK(failed.status == 1);
  CHECK_THAT(failed.output, contains_text("day 2026-11-26: fail point day.before"));
  {
    TcpClient client(server.port());
    check_first_day(client);
  }
  CHECK(place.new_day(server).status == 0);
  // The scenario of a day that was closed without one.
  CHECK(place.new_day_with_scenario(server).status == 0);
  TcpClient client(server.port());
  check_second_day(client);
}

TEST_CASE("new-day is refused without the operator's key, and where a day cannot be closed") {
  const Place place;
  const auto refusal = [&](const ServerProcess& server, const std::string& key) {
    const RunResult result = run_program("exchange-cli", place.words(server, key));
    CHECK(result.status == 1);
    return result.output;
  };
  {
    ServerProcess server = place.start();
    const std::string wrong = place.folder / "wrong", bad = place.folder / "bad";
    std::ofstream(wrong) << "operator-2\n";
    CHECK_THAT(refusal(server, wrong), contains_text("operator's key"));
    const auto post = [&](const std::string& key, const std::string& body) {
      const std::string length = "Content-Length: " + std::to_string(body.size()) + "\r\n";
      const std::string response =
          ask_http(server.http_port(), "POST /api/admin/new-day", key + length, body);
      return response.substr(0, response.find("Date:")) +
             response.substr(response.find("\r\n\r\n"));
    };
    const std::string of_operator_2 = "Authorization: Bearer operator-2\r\n",
                      of_operator_1 = "Authorization: Bearer operator-1\r\n",
                      valid = R"({"day": "monday"})";
    CHECK(post("", valid) == post(of_operator_2, valid));
    CHECK(post("", "{") == post(of_operator_2, valid));
    CHECK_THAT(post("", valid), contains_text("403"));
    for (const char* body : {"", "{", "{}", R"({"day": 1})", R"({"day": "Monday"})",
                             R"({"day": "../x"})", R"({"day": "a", "b": 1})"})
      CHECK_THAT(post(of_operator_1, body), contains_text("400"));
    std::ofstream(bad) << "<create><account id='1'/></create>";
    const RunResult unusable = place.new_day(server, {"--scenario", bad});
    CHECK(unusable.status == 2);
    CHECK_THAT(unusable.output, contains_text("scenario " + bad + ": "));
    CHECK(server.stop() == 0);
    CHECK_FALSE(fs::exists(place.folder / "x.db.days"));
  }
  {
    ServerProcess server({"--store", "memory:", "--http-port", "0"});
    CHECK_THAT(refusal(server, place.key), contains_text("this server has no operator"));
  }
  {
    ServerProcess server(place.options("memory:"));
    CHECK_THAT(refusal(server, place.key), contains_text("in memory"));
  }
}

TEST_CASE("new-day is refused while a standby server follows") {
  const Place place(true);
  ServerProcess server = place.start();
  trade_first_day(server);
  std::vector<std::string> options = place.options(place.store);
  options.insert(options.end(), {"--standby", "--port", "0"});
  ChildProcess standby("server", options);
  CHECK(wait_for([&] { return standby.output().find("standby http-port=") != std::string::npos; }));
  const RunResult refused = place.new_day(server);
  CHECK(refused.status == 1);
  CHECK_THAT(refused.output, contains_text("a standby server follows this one"));
  CHECK(standby.end_with(SIGTERM) == 0);
  CHECK(place.new_day(server).status == 0);
}
