// The report of `loadgen policies` on its runs.
#include "client/loadgen/report/policies_report.hpp"

#include <sstream>

#include "catch.hpp"
#include "sample_report.hpp"

using namespace exchange::loadgen;

namespace {

Json run_with(double requests_per_s, double p99_ms = 3.5) {
  Json report = sample_report();
  report["result"]["requests_per_s"] = requests_per_s;
  report["result"]["response_ms"]["p99"] = p99_ms;
  return report;
}

Json cell(const char* policy, unsigned cores, const Json& runs) {
  return {{"policy", policy},
          {"cores", cores},
          {"server_cpus", cores == 1 ? Json::array({0}) : Json::array({0, 1})},
          {"client_cpus", cores == 1 ? Json::array({1}) : Json::array({0, 1})},
          {"workers", 1},
          {"not_run", nullptr},
          {"problem", nullptr},
          {"runs", runs}};
}

Json not_run(const char* policy, unsigned cores) {
  Json one = cell(policy, cores, Json::array());
  one["server_cpus"] = one["client_cpus"] = Json::array();
  one["not_run"] = "this machine has 2 CPUs";
  return one;
}

// A report of a machine with two CPUs.
Json measured() {
  const Json slow{run_with(60'000), run_with(61'000), run_with(59'000)},
      fast{run_with(105'000), run_with(104'000), run_with(109'000)},
      same{run_with(108'000), run_with(103'000), run_with(104'000)};
  return {{"format", "exchange-loadgen-policies/1"},
          {"commit", "1436c54"},
          {"started", "2026-11-21T13:10:35Z"},
          {"command", {"loadgen", "policies"}},
          {"machine", {{"cpu", "A CPU"}, {"cpus", 2}}},
          {"rounds", 3},
          {"interrupted", false},
          {"cells",
           {cell("thread", 1, slow), cell("pool", 1, fast), cell("loop", 1, same),
            cell("thread", 2, slow), cell("pool", 2, same), cell("loop", 2, fast),
            not_run("thread", 4), not_run("pool", 4), not_run("loop", 4)}}};
}

Json summarized(Json policies = measured()) {
  add_summary(policies);
  return policies;
}

std::vector<std::string> lines_with(const std::string& text, const std::string& word) {
  std::istringstream in(text);
  std::vector<std::string> found;
  for (std::string line; std::getline(in, line);)
    if (line.find(word) != std::string::npos) found.push_back(line);
  return found;
}

}  // namespace

TEST_CASE("the summary has the median of the runs, the least and the greatest") {
  const Json policies = summarized();
  CHECK(policies["cells"][1]["requests_per_s"] ==
        Json{{"median", 105'000.0}, {"least", 104'000.0}, {"greatest", 109'000.0}});
  CHECK(policies["cells"][1]["errors"] == 0);
  CHECK(policies["cells"][1]["runs"].size() == 3);
  CHECK(!policies["cells"][8].contains("requests_per_s"));
}

TEST_CASE("for each number of CPUs the first policy is named, and what the runs distinguish") {
  const Json answers = summarized()["answers"];
  REQUIRE(answers.size() == 2);
  CHECK(answers[0]["first"] == "pool");
  CHECK_THAT(answers[0]["text"].get<std::string>(),
             contains_text("1 CPU: pool is first, 105,000 requests/s; loop 0.990 of that (no "
                           "difference seen); thread 0.571 of that (0.5"));
  CHECK(answers[1]["first"] == "loop");
  CHECK(answers[1]["cores"] == 2);
}

TEST_CASE("where a plan gives all the same rate, the lowest latency is first") {
  Json policies = measured();
  for (Json& one : policies["cells"])
    for (Json& run : one["runs"]) {
      run["load"]["mode"] = "open";
      run["result"]["requests_per_s"] = 5'000;
      run["result"]["response_ms"]["p99"] = one["policy"] == "thread" ? 1.5 : 2.5;
    }
  const Json answers = summarized(policies)["answers"];
  CHECK(answers[0]["first"] == "thread");
  CHECK_THAT(answers[0]["text"].get<std::string>(), contains_text("thread is first, 1.50 ms p99"));
}

TEST_CASE("the table has a row for each policy, and says why a number of CPUs was not measured") {
  const std::string text = policies_text(summarized());
  CHECK(lines_with(text, "pool  ").size() == 2);
  CHECK(lines_with(text, "not run") ==
        std::vector<std::string>{"   4  not run: this machine has 2 CPUs"});
  CHECK_THAT(text, contains_text("200 clients, closed loop, transactions, store sqlite; medians of "
                                 "3 rounds"));
  CHECK_THAT(text, contains_text("1 CPU: server on 0, clients on 1\n"
                                 "2 CPUs: server on 0,1, clients on 0,1\n"));
  CHECK_THAT(text, contains_text("WARNING: 2 CPUs: server and clients share them"));
}

TEST_CASE("what shaped or spoilt the runs of a policy is a warning") {
  Json policies = measured();
  policies["cells"][1]["runs"][2]["client_was_the_bottleneck"] = true;
  policies["cells"][0]["runs"][0]["result"]["stolen_cpu_share"] = 0.25;
  policies["cells"][0]["runs"][0]["result"]["requests_per_s"] = 20'000;
  policies["cells"][2]["problem"] = "the server did not start\nwith its log";
  policies["cells"][2]["runs"] = Json::array();
  policies["interrupted"] = true;
  policies = summarized(policies);
  CHECK(
      policies["warnings"] ==
      Json{"pool on 1 CPU: the client was the bottleneck in 1 of 3 runs: the server could do more",
           "loop on 1 CPU: the server did not start",
           "2 CPUs: server and clients share them, so the server could do more on as many of its "
           "own",
           "thread on 1 CPU: one round had 3.05 times the rate of another: other work on this "
           "machine disturbs the runs",
           "a hypervisor took up to 25.0 % of the machine's CPU time, so that latencies include "
           "its pauses",
           "interrupted before the last run"});
  CHECK_THAT(policies_text(policies), contains_text("   1  loop     not measured\n"));
}

TEST_CASE("policies without a single run have no answer, and a text all the same") {
  Json policies = measured();
  for (Json& one : policies["cells"]) one["runs"] = Json::array();
  policies = summarized(policies);
  CHECK(policies["answers"].empty());
  CHECK_THAT(policies_text(policies), contains_text("Nothing was measured."));
}
