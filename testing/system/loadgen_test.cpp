// The load generator as its users run it: against real servers and against servers that break the
// rules.

#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/guarded.hpp"
#include "catch.hpp"
#include "support/edited_server.hpp"
#include "support/folder.hpp"
#include "support/policies.hpp"

using namespace exchange;
using namespace exchange::testing;

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

struct Ran {
  int status;
  std::string out, err;
};

// Runs `loadgen` with these words, split as by a shell.
Ran loadgen(const std::string& words, const std::string& before = "") {
  const TemporaryFolder folder;
  const std::string binary =
      (fs::read_symlink("/proc/self/exe").parent_path() / "loadgen").string();
  const std::string command = "{ " + before + "'" + binary + "' " + words + "; } >'" +
                              (folder / "out") + "' 2>'" + (folder / "err") + "'";
  const int status = std::system(command.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
          contents(folder / "out"), contents(folder / "err")};
}

// A run and its JSON report.
struct Reported : Ran {
  Json json;
};
Reported report_of(const std::string& words) {
  const TemporaryFolder folder;
  Reported reported{loadgen(words + " --json '" + (folder / "report.json") + "'"), {}};
  INFO(reported.out << reported.err);
  const std::string text = contents(folder / "report.json");
  if (!text.empty()) reported.json = Json::parse(text);
  return reported;
}

// Runs `loadgen`, which must end with this status.
Ran loadgen_ends(int status, const std::string& words, const std::string& before = "") {
  Ran run = loadgen(words, before);
  INFO(words << "\n" << run.out << run.err);
  REQUIRE(run.status == status);
  return run;
}
Reported report_ends(int status, const std::string& words) {
  Reported run = report_of(words);
  INFO(words << "\n" << run.out << run.err);
  REQUIRE(run.status == status);
  return run;
}

std::uint64_t errors(const Reported& reported, const char* error) {
  return reported.json["result"]["errors"][error];
}

std::uint64_t sum_of_counts(const Json& buckets) {
  std::uint64_t sum = 0;
  for (const Json& bucket : buckets) sum += bucket[1].get<std::uint64_t>();
  return sum;
}

const std::string small = "-c 5 -n 300 --store memory: ";
std::optional<std::string> honest(std::string reply, unsigned) { return reply; }

}  // namespace

TEST_CASE(
    "a run ends with 0 and reports every request under each policy, workload and kind of connection") {
  for (const std::string& policy : policy_names())
    for (const char* workload : {"create", "transactions", "mix", "reads"})
      for (const char* connection : {"persistent", "per-request"}) {
        const Reported run = report_ends(0, small + "--policy " + policy + " --workload " +
                                                workload + " --connection " + connection);
        CHECK(run.json["result"]["answered"] == 300);
        CHECK(run.json["server"]["policy"] == policy);
        CHECK(run.json["workload"]["kind"] == workload);
        CHECK(sum_of_counts(run.json["result"]["response_histogram"]) == 300);
        CHECK(sum_of_counts(run.json["result"]["service_histogram"]) == 300);
        CHECK(contains_text("300 answered").match(run.out));
      }
}

TEST_CASE("a run in JSON ends with 0, reports every order and counts what the server refuses") {
  for (const char* protocol : {"rest", "websocket"}) {
    const std::string words = small + "--pipeline 4 --protocol " + protocol;
    const Reported run = report_ends(0, words);
    CHECK(run.json["result"]["answered"] == 300);
    CHECK(run.json["result"]["rejected"]["order"] == 0);
    CHECK(run.json["load"]["protocol"] == protocol);
    CHECK(report_ends(0, words + " --cash 1").json["result"]["rejected"]["order"] > 0);
  }
}

TEST_CASE(
    "workers, pipelines, ramp-up, warm-up and idle connections lose no request and no second") {
  const Reported run = report_ends(
      0,
      small +
          "--workers 3 --pipeline 4 --idle 20 --workload mix --orders-per-request 3 --accounts 11");
  CHECK(run.json["result"]["answered"] == 300);
  const Reported ramped =
      report_ends(0, "-c 10 -d 600ms --warmup 1200ms --ramp-up 10 --store memory:");
  std::vector<bool> warmups;
  for (const Json& second : ramped.json["series"]) warmups.push_back(second["warmup"]);
  CHECK(warmups.size() >= 3);
  CHECK(warmups[0]);
  CHECK(warmups[1]);
  CHECK(!warmups[2]);
  CHECK(ramped.json["result"]["answered"] ==
        sum_of_counts(ramped.json["result"]["service_histogram"]));
}

TEST_CASE("an open loop plans what its stages say and counts from the plan") {
  const Reported run =
      report_ends(0, "-c 4 --rate 500ms:200,500ms:600 --store memory: --arrivals uniform");
  CHECK(run.json["load"]["mode"] == "open");
  CHECK(run.json["result"]["planned"] == 400);
  const std::uint64_t unsent = run.json["result"]["unsent"],
                      answered = run.json["result"]["answered"];
  CHECK(answered + unsent == 400);
  CHECK(contains_text("400 planned").match(run.out));
}

TEST_CASE(
    "a stall is seen in the response time of every request planned during it, not only in the one that waited") {
  bool stalled = false;
  EditedServer server([&](std::string reply, unsigned number) {
    if (number == 20 && !std::exchange(stalled, true))
      std::this_thread::sleep_for(std::chrono::milliseconds(500));
    return std::optional(reply);
  });
  const Reported run = report_ends(0, "-c 1 --rate 100 -d 1500ms --connect " + server.address());
  const auto above_100_ms = [](const Json& histogram) {
    std::uint64_t count = 0;
    for (const Json& bucket : histogram)
      if (bucket[0].get<double>() > 100e3) count += bucket[1].get<std::uint64_t>();
    return count;
  };
  // 40 are planned in its first 400 ms
  CHECK(above_100_ms(run.json["result"]["response_histogram"]) >= 35);
  CHECK(above_100_ms(run.json["result"]["service_histogram"]) >= 1);
  CHECK(above_100_ms(run.json["result"]["service_histogram"]) < 20);
  CHECK(run.json["result"]["response_ms"]["max"] >= 450);
}

TEST_CASE(
    "requests that a slow server leaves unsent are reported, and count with the age they have") {
  EditedServer server([&](std::string reply, unsigned) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    return std::optional(reply);
  });
  const Reported run = report_of("-c 1 --rate 100 -d 1s --connect " + server.address());
  INFO(run.out << run.err);
  const std::uint64_t unsent = run.json["result"]["unsent"];
  CHECK(unsent >= 70);
  CHECK(sum_of_counts(run.json["result"]["response_histogram"]) == 100);
  CHECK(run.json["result"]["response_ms"]["p99"] > 500);
}

TEST_CASE("every kind of trouble is an error of its own class and fails the run") {
  struct Trouble {
    const char* error;
    EditedServer::Edit edit;
    const char* words = "";
  };
  const auto third = [](auto edit) {
    return [edit](std::string reply, unsigned number) {
      return number == 3 ? edit(reply) : std::optional(reply);
    };
  };
  const std::vector<Trouble> troubles{
      {"wrong answer", third([](std::string) {
         return std::optional<std::string>("<results><opened id=\"1\"/></results>\n");
       })},
      {"wrong answer",
       third([](const std::string& reply) { return std::optional(reply + reply); })},
      // the id of another order
      {"wrong answer",
       [first = std::string()](std::string reply, unsigned number) mutable {
         const auto id = [](const std::string& text) { return text.substr(text.rfind("id=")); };
         if (number == 1) first = reply;
         if (number == 3) reply.replace(reply.rfind("id="), std::string::npos, id(first));
         return std::optional(reply);
       }},
      {"protocol",
       third([](std::string) { return std::optional<std::string>("HTTP/1.1 200 OK\n"); })},
      {"reset", third([](std::string) { return std::optional<std::string>(); })},
      {"timeout", third([](std::string) { return std::optional<std::string>(""); }),
       "--timeout 0.5"},
  };
  for (const Trouble& trouble : troubles) {
    EditedServer server(trouble.edit);
    const Reported run =
        report_ends(1, "-c 2 -n 20 --connect " + server.address() + " " + trouble.words);
    CHECK(errors(run, trouble.error) >= 1);
    CHECK(contains_text(trouble.error).match(run.out));
  }
}

TEST_CASE("--expect decides on errors and figures, and never allows a wrong answer") {
  EditedServer closing([](std::string reply, unsigned number) {
    return number == 3 ? std::optional<std::string>() : std::optional(reply);
  });
  EditedServer wrong([](std::string reply, unsigned number) {
    return std::optional<std::string>(number == 3 ? "<results></results>\n" : reply);
  });
  CHECK(loadgen("-c 1 -n 100 --expect 'errors<5%' --connect " + closing.address()).status == 0);
  CHECK(loadgen("-c 1 -n 100 --expect 'errors<5%' --connect " + wrong.address()).status == 1);
  const Ran missed = loadgen(small + "--expect 'p99<60s,rate>102410249'");
  CHECK(missed.status == 1);
  CHECK(contains_text("p99<60s: met").match(missed.out));
  CHECK(contains_text("rate>102410249: MISSED").match(missed.out));
}

TEST_CASE("no server gives 3, a wrong command line 2 with advice") {
  unsigned free_port = 0;
  {
    EditedServer gone(honest);
    free_port = unsigned(std::stoul(gone.address().substr(gone.address().find(':') + 1)));
  }
  const Ran unreachable = loadgen("-c 1 -n 1 --connect 127.0.0.1:" + std::to_string(free_port));
  CHECK(unreachable.status == 3);
  CHECK(contains_text("cannot connect").match(unreachable.err));
  CHECK(loadgen("--rate fast").status == 2);
  CHECK(loadgen(small + "--json /nowhere/x.json").status == 2);
  const TemporaryFolder folder;
  const Ran full = loadgen(small + "--json /dev/full --history '" + (folder / "run.jsonl") + "'");
  CHECK(full.status == 2);
  CHECK(contains_text("cannot write /dev/full").match(full.err));
  CHECK(contains_text("<results>").match(contents(folder / "run.jsonl")));
  const Ran few_descriptors = loadgen("-c 500 -n 500", "ulimit -n 100; ");
  CHECK(few_descriptors.status == 2);
  CHECK(contains_text("ulimit").match(few_descriptors.err));
}

TEST_CASE("the soft descriptor limit is raised by itself") {
  CHECK(loadgen("-c 300 -n 600 --store memory:", "ulimit -Sn 100; ").status == 0);
}

TEST_CASE("--audit passes on an honest server for each workload and kind of request") {
  for (
      const char* words :
      {"--workload create", "--workload transactions", "--workload mix", "--workload replace=1",
       "--workload order=10,cancel_all=1",
       "--workload order=4,ioc=1,fok=1,post=1,market=1,stp=2,query=1,cancel=1,replace=4,cancel_all=1"})
    for (const char* more : {"", " --pipeline 4 --orders-per-request 3 --accounts 2"}) {
      const Reported run = report_ends(
          0, std::string("-c 6 -n 2000 --workers 2 --audit --store memory: ") + words + more);
      CHECK(run.json["audit"]["passed"] == true);
      CHECK(run.json["audit"]["not_checked"] == "");
      CHECK(run.json["result"]["deviations"].empty());
      CHECK(run.json["audit"]["accounts"] >= 2);
      CHECK((run.json["audit"]["executions"] > 100) == (std::string(words) != "--workload create"));
    }
}

TEST_CASE("a server that changes no trading ends a run with --trading-days before it begins") {
  EditedServer server([](std::string reply, unsigned) {
    const std::string created = "<created sym=\"SYM1\"/>";
    if (const std::size_t at = reply.find("<created sym=\"SYM2\"/>" + created);
        at != std::string::npos)
      reply.replace(reply.find(created), created.size(), "<error>unknown element</error>");
    return std::optional(reply);
  });
  const Ran run =
      loadgen("-c 2 -n 20 --symbols 1 --trading-days 5ms --connect " + server.address());
  CHECK(run.status == 1);
  CHECK(contains_text("the server refuses to change trading: unknown element").match(run.err));
}

TEST_CASE("--audit finds a server that tells of trades that were not") {
  // In every reply the first execution has an extra digit 1 in front of its shares.
  EditedServer server([](std::string reply, unsigned) {
    const std::size_t executed = reply.find("<executed shares=\"");
    if (executed != std::string::npos) reply.replace(executed, 18, "<executed shares=\"1");
    return std::optional(reply);
  });
  const Ran run = loadgen_ends(1, "-c 3 -n 200 --audit --connect " + server.address());
  CHECK(contains_text("audit          FAILED").match(run.out));
}

TEST_CASE("the first request creates an account, and no later one names another") {
  std::set<std::string> created;
  EditedServer server(honest, {.dies_of = [&](const Command& command) {
                        if (const auto* account = std::get_if<CreateAccount>(&command))
                          created.emplace(account->account.view());
                        const auto* query = std::get_if<QueryOrder>(&command);
                        return query && !created.contains(std::string(query->account.view()));
                      }});
  CHECK(loadgen("-c 2 -n 20 --audit --connect " + server.address()).status == 0);
}

TEST_CASE("a server that dies of the first request is reported with that request, on one line") {
  EditedServer server(honest, {.dies_of = [](const Command&) { return true; }});
  const Ran run = loadgen("-c 2 -n 20 --connect " + server.address());
  CHECK(run.status == 3);
  CHECK(contains_text("the request was: <create><account id=\"").match(run.err));
}

TEST_CASE("a server that serves as many connections as there are clients passes, and fewer end") {
  for (const char* workload : {"create", "mix"}) {
    EditedServer server(honest, {.served_max = 3});
    loadgen_ends(0, std::string("-c 3 -n 60 --audit --timeout 3 --workload ") + workload +
                        " --connect " + server.address());
  }
  EditedServer server(honest, {.served_max = 2});
  const Reported run = report_of("-c 3 -d 1s --timeout 0.5 --connect " + server.address());
  INFO(run.out << run.err);
  CHECK(run.json["result"]["answered"] > 0);
  CHECK(errors(run, "timeout") >= 1);
}

TEST_CASE("no connection is opened and closed without a request") {
  for (const char* workload : {"create", "transactions"})
    for (const char* connection : {"persistent", "per-request"}) {
      EditedServer server(honest, {.dies_of_empty_connection = true});
      loadgen_ends(0, std::string("-c 3 -n 30 --audit --workload ") + workload + " --connection " +
                          connection + " --connect " + server.address());
    }
}

TEST_CASE("a server that closes after each reply gets the advice to connect for each request") {
  EditedServer server(honest, {.closes_after_reply = true});
  const Ran persistent = loadgen_ends(1, "-c 2 -n 100 --connect " + server.address());
  CHECK(contains_text("try --connection per-request").match(persistent.out));
  const Ran per_request =
      loadgen_ends(0, "-c 2 -n 100 --audit --connection per-request --connect " + server.address());
  CHECK(!contains_text("advice").match(per_request.out));
}

TEST_CASE("where nothing could be audited, the report says so and why") {
  struct Trouble {
    std::optional<std::string> reply;
    const char* why;
  };
  for (const Trouble& trouble :
       {Trouble{std::nullopt, "20 requests went without a reply, and what"},
        Trouble{"<results/>\n", "20 requests got a wrong answer, and what"}}) {
    EditedServer server([&](const std::string&, unsigned) { return trouble.reply; });
    const Reported run = report_ends(1, "-c 2 -n 20 --audit --connect " + server.address());
    CHECK(contains_text("audit          NOTHING was audited\n").match(run.out));
    CHECK(contains_text(trouble.why).match(run.out));
    CHECK(run.json["audit"]["passed"] == false);
  }
}

TEST_CASE("replies that differ in form alone are reported, and the audit goes on") {
  EditedServer server([](std::string reply, unsigned) {
    for (std::size_t at = 0; (at = reply.find("price=\"", at)) != std::string::npos; at += 8)
      reply.insert(at + 7, "$");
    for (std::size_t at = 0; (at = reply.find("time=\"", at)) != std::string::npos;)
      reply.insert(at = reply.find('"', at + 6), "000");
    return std::optional(reply);
  });
  const Reported run =
      report_ends(0, "-c 4 -n 500 --workload mix --audit --connect " + server.address());
  CHECK(run.json["audit"]["accounts"] == 4);
  CHECK(run.json["audit"]["not_checked"] == "");
  CHECK(run.json["result"]["deviations"].size() == 2);
  CHECK(contains_text("(R12), such as: ").match(run.out));
}

TEST_CASE("by default account ids are short, and of no account that the server has") {
  Guarded<std::vector<std::string>> accounts;
  EditedServer server(
      honest, {.dies_of = [&](const Command& command) {
        if (const auto* account = std::get_if<CreateAccount>(&command))
          accounts.with([&](auto& ids) { ids.emplace_back(account->account.view()); });
        return false;
      }});
  const auto take_created = [&] {
    return accounts.with([](auto& ids) { return std::exchange(ids, {}); });
  };
  CHECK(loadgen("-c 2 -n 20 --connect " + server.address()).status == 0);
  for (const std::string& id : take_created()) CHECK(id.size() <= 4);

  // once all short ids are taken, new ids are long
  std::string all = "<create>";
  for (int id = 100; id < 1'000; ++id)
    all += "<account id=\"" + std::to_string(id) + "\" balance=\"0\"/>";
  const std::string request = std::to_string(all.size() + 9) + "\n" + all + "</create>";
  boost::asio::ip::tcp::iostream stream("127.0.0.1", server.address().substr(10));
  stream << request << std::flush;
  std::string reply;
  std::getline(stream, reply);
  take_created();
  CHECK(loadgen("-c 2 -n 20 --connect " + server.address()).status == 0);
  CHECK(take_created().back().size() > 10);
}

TEST_CASE("--json says what was asked for, and has an object a second") {
  const TemporaryFolder folder;
  const Ran run = loadgen_ends(0, "-c 3 --rate 200 -d 2100ms --store memory: --seed 12 --json '" +
                                      (folder / "run.json") + "'");
  const Json json = Json::parse(contents(folder / "run.json"));
  CHECK(json["format"] == "exchange-loadgen/1");
  CHECK(json["workload"]["seed"] == 12);
  CHECK(json["command"][1] == "-c");
  CHECK(json["client"]["cpu_s"] > 0);
  CHECK(json["server_process"]["cpu_s"] > 0);
  CHECK(json["server_process"]["voluntary_switches"] > 0);
  CHECK(json["machine"]["cpus"] >= 1);
  for (const char* stage : {"parse", "queue", "apply", "commit", "deliver", "write"})
    CHECK(json["server_stages_us"][stage]["count"] > 0);
  CHECK(json["series"].size() == 3);
}

TEST_CASE("the file - is stdout, and the text of the report then goes to stderr") {
  const Ran json = loadgen_ends(0, small + "--json - --history /dev/null");
  CHECK(Json::parse(json.out)["result"]["answered"] == 300);
  CHECK(contains_text("300 answered").match(json.err));
  CHECK(loadgen_ends(0, small + "--history -").out.starts_with("{\"clock\""));
  CHECK(!fs::exists("-"));
}

TEST_CASE("the report counts the CPUs of the machine, whichever of them the client was given") {
  const auto cpus = unsigned(::sysconf(_SC_NPROCESSORS_ONLN));
  CHECK(report_ends(0, small).json["machine"]["cpus"] == cpus);
  cpu_set_t set;
  REQUIRE(::sched_getaffinity(0, sizeof set, &set) == 0);
  int first = 0;
  while (!CPU_ISSET(first, &set)) ++first;
  const Json pinned = report_ends(0, small + "--client-cpus " + std::to_string(first)).json;
  CHECK(pinned["machine"]["cpus"] == cpus);
  CHECK(pinned["load"]["client_cpus"] == Json::array({first}));
}

TEST_CASE("no progress goes to a pipe") {
  CHECK(loadgen("-c 2 -d 1200ms --store memory:").err.empty());
}

TEST_CASE("--find-capacity ends with a rate that was held twice") {
  const Reported run =
      report_ends(0, "-c 4 -d 100ms --warmup 50ms --find-capacity 'p99<200ms' --store memory:");
  const Json& trials = run.json["capacity"]["trials"];
  REQUIRE(trials.size() >= 3);
  CHECK(trials.back()["held"] == true);
  CHECK(trials.back()["requests_per_s"] == run.json["capacity"]["requests_per_s"]);
  CHECK(contains_text("highest rate held twice").match(run.out));
}

TEST_CASE("wrong answers during a search fail it, whichever try they came in") {
  EditedServer server([](std::string reply, unsigned number) {
    return std::optional<std::string>(number == 5 ? "<results></results>\n" : reply);
  });
  const Reported run =
      report_ends(1, "-c 1 -d 100ms --warmup 10ms --find-capacity 'p99<30s,errors<50%' --connect " +
                         server.address());
  CHECK(errors(run, "wrong answer") == 1);
}

TEST_CASE("a search that is interrupted reports its tries") {
  const Ran run = loadgen_ends(130, "-c 1 -d 500ms --find-capacity 'p99<30s' --store memory:",
                               "timeout --preserve-status -s INT 2 ");
  CHECK(contains_text("no rate was held twice").match(run.out));
}

TEST_CASE(
    "a private server that dies fails the run, with its end and what was measured, audit or not") {
  for (const char* audit : {"", " --audit"}) {
    const TemporaryFolder folder;
    const Ran run =
        loadgen("-c 2 -d 30s --store memory: --json '" + (folder / "r.json") + "'" + audit +
                " & pid=$!; sleep 1.5; kill -9 $(cat /proc/$pid/task/$pid/children); wait $pid");
    INFO(run.out << run.err);
    CHECK(run.status == 1);
    CHECK(contains_text("stopped early").match(run.out));
    CHECK(contains_text("ended by signal 9").match(run.err));
    CHECK(Json::parse(contents(folder / "r.json"))["result"]["stopped_early"] == true);
  }
}

TEST_CASE("replies that are no text end up in the reports as far as they can") {
  EditedServer server(
      [](std::string, unsigned) { return std::optional<std::string>("\xff\xfe\n"); });
  const Reported run = report_ends(1, "-c 1 -n 5 --connect " + server.address());
  CHECK(errors(run, "protocol") == 5);
}

TEST_CASE("compare takes what --json wrote") {
  const TemporaryFolder folder;
  // -n and -d
  REQUIRE(loadgen(small + "-d 1200ms --json '" + (folder / "a.json") + "'").status == 2);
  REQUIRE(loadgen("-c 5 -d 2200ms --store memory: --json '" + (folder / "a.json") + "'").status ==
          0);
  const Ran same = loadgen("compare '" + (folder / "a.json") + "' '" + (folder / "a.json") + "'");
  INFO(same.out << same.err);
  CHECK(same.status == 4);  // the runs are too short to decide
  CHECK(contains_text("1.000").match(same.out));
  CHECK(loadgen("compare '" + (folder / "a.json") + "'").status == 2);
}

TEST_CASE("Ctrl-C ends a run at once, with its report so far") {
  const Ran run =
      loadgen_ends(130, "-c 2 -d 1m --store memory:", "timeout --preserve-status -s INT 2 ");
  CHECK(contains_text("stopped early").match(run.out));
}
