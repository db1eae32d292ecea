// The findings of `loadgen compare` between reports, and its exit codes.
#include "client/loadgen/report/compare.hpp"

#include <cmath>
#include <fstream>
#include <iterator>
#include <sstream>

#include "catch.hpp"
#include "support/folder.hpp"

using namespace exchange::loadgen;

namespace {

using Lines = std::vector<std::string>;

// Returns the parts that matter here of a report of a quiet run of ten seconds; tests change it.
Json sample_report() {
  const Json process{{"cpu_us_per_request", 41.0}},
      latency{{"mean", 1.2}, {"p50", 1.1}, {"p99", 3.5}, {"p99_9", 5.0}, {"max", 8.0}};
  Json report{{"format", "exchange-loadgen/1"},
              {"commit", "1436c54"},
              {"machine", {{"cpus", 2}, {"kernel", "6.18"}}},
              {"server", {{"description", "private server, policy=pool"}, {"policy", "pool"}}},
              {"load", {{"clients", 200}, {"arrivals", nullptr}}},
              {"workload", {{"kind", "transactions"}, {"account_prefix", "1795"}}},
              {"result",
               {{"answered", 100'000},
                {"requests_per_s", 10'000.0},
                {"stopped_early", false},
                {"stolen_cpu_share", 0.001},
                {"response_ms", latency},
                {"service_ms", latency},
                {"errors", {{"timeout", 0}, {"protocol", 0}, {"wrong answer", 0}}}}},
              {"client", process},
              {"server_process", process},
              {"client_was_the_bottleneck", false},
              {"expectations", Json::array()},
              {"audit", nullptr},
              {"series", Json::array()}};
  for (int second = 1; second <= 10; ++second) {
    const double wobble = second % 2 ? 0.99 : 1.01;
    report["series"].push_back({{"second", second},
                                {"warmup", false},
                                {"requests_per_s", 10'000 / wobble},
                                {"response_p50_ms", 1.1 * wobble},
                                {"response_p99_ms", 3.5 * wobble},
                                {"response_max_ms", 7 * wobble},
                                {"service_p99_ms", 3.5 * wobble},
                                {"errors", 0},
                                {"client_cpu_share", 0.41},
                                {"server_cpu_share", nullptr}});
  }
  return report;
}

// Returns a run whose response p99 is `factor` times the sample's, in the whole and in each second.
Json slower(double factor) {
  Json report = sample_report();
  report["result"]["response_ms"]["p99"] = 3.5 * factor;
  for (auto& second : report["series"])
    second["response_p99_ms"] = second["response_p99_ms"].get<double>() * factor;
  return report;
}

const MetricComparison& metric(const Comparison& comparison, const std::string& name) {
  for (const auto& each : comparison.metrics)
    if (each.name == name) return each;
  throw std::logic_error("no metric " + name);
}

struct Folder : exchange::testing::TemporaryFolder {
  std::string file(const std::string& name, const std::string& content) const {
    std::ofstream(*this / name) << content;
    return *this / name;
  }
  std::string file(const std::string& name, const Json& report) const {
    return file(name, report.dump());
  }
};

struct Finished {
  int code;
  std::string out, errors;
};

Finished run(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "compare");
  std::vector<const char*> argv;
  for (const std::string& argument : arguments) argv.push_back(argument.c_str());
  std::ostringstream out, errors;
  const int code = compare_main(int(argv.size()), argv.data(), out, errors);
  return {code, out.str(), errors.str()};
}

}  // namespace

TEST_CASE("a run compared with itself shows no difference") {
  const Comparison comparison = compare({sample_report()}, {sample_report()}, 5);
  CHECK(comparison.regressions == Lines{});
  CHECK(comparison.unlike == Lines{});
  CHECK(comparison.warnings == Lines{});
  CHECK(!comparison.intervals_from_runs);
  for (const auto& each : comparison.metrics) {
    CAPTURE(each.name);
    CHECK((each.verdict == Verdict::no_difference_seen || each.name == "server CPU"));
  }
  CHECK(metric(comparison, "server CPU").ratio == 1);
}

TEST_CASE("the interval of several runs is Welch's of the logarithms") {
  // By hand: logarithms of A 0 and 0.02, of B 0.5, 0.52 and 0.54; variances 0.0002 and 0.0004;
  // squared error 0.0001 + 0.000133; 2.88 degrees of freedom, whose t is 3.26; margin 0.0498.
  const Comparison comparison =
      compare({slower(1), slower(std::exp(0.02))},
              {slower(std::exp(0.5)), slower(std::exp(0.52)), slower(std::exp(0.54))}, 5);
  const MetricComparison& p99 = metric(comparison, "response p99");
  CHECK(p99.ratio == Approx(std::exp(0.51)));
  REQUIRE(p99.interval);
  CHECK(std::log(p99.interval->first) == Approx(0.51 - 0.0498).margin(0.0005));
  CHECK(std::log(p99.interval->second) == Approx(0.51 + 0.0498).margin(0.0005));
}

TEST_CASE("each figure gets a verdict, and what is worse beyond chance and tolerance a sentence") {
  const auto sample_with = [](auto change) {
    Json report = sample_report();
    change(report);
    return report;
  };
  const auto timeouts = [&](int count) {
    return sample_with([&](Json& run) { run["result"]["errors"]["timeout"] = count; });
  };
  const Json sample = sample_report(), slow = slower(1.2), slightly_slow = slower(1.04),
             fast = sample_with([](Json&run) { run["result"]["requests_per_s"] = 12'000.0; }),
             without_server = sample_with([](Json&run) { run["server_process"] = nullptr; }),
             audit_failed = sample_with([](Json&run) {
               run["audit"] = {{"passed", false}};
             });
  Json jumpy = slow, odd_ends = slow, silent = sample, wrong = timeouts(7);
  for (std::size_t i = 0; i < jumpy["series"].size(); ++i)
    jumpy["series"][i]["response_p99_ms"] = i % 2 ? 1.0 : 8.0;
  odd_ends["series"][0]["warmup"] = true;
  odd_ends["series"][0]["response_p99_ms"] = odd_ends["series"][9]["response_p99_ms"] = 1000;
  odd_ends["series"][9]["second"] = 9.3;
  silent["result"]["answered"] = 0;
  silent["result"]["requests_per_s"] = 0.0;
  wrong["result"]["errors"]["wrong answer"] = 2;

  using enum Verdict;
  const char* const p99 = "response p99";
  const std::string p99_is_worse = "response p99 is worse (3.50 to 4.20 ms)";
  const struct {
    std::vector<Json> a, b;
    const char* metric;
    Verdict verdict;
    Lines regressions;
  } rows[] = {
      {{sample}, {slow}, p99, worse, {p99_is_worse}},
      {{slow}, {sample}, p99, better, {}},
      {{sample}, {slightly_slow}, p99, worse, {}},  // within the tolerance
      {{sample}, {fast}, "throughput", better, {}},
      {{fast},
       {sample},
       "throughput",
       worse,
       {"throughput is worse (12,000 to 10,000 requests/s)"}},
      // runs, and seconds, that spread as far as they differ
      {{slower(1), slower(1.3), slower(0.9)},
       {slower(1.4), slower(1.0), slower(1.2)},
       p99,
       no_difference_seen,
       {}},
      {{sample}, {jumpy}, p99, no_difference_seen, {}},
      // the warm-up, and a part of a second at the end, do not count
      {{sample}, {odd_ends}, p99, worse, {p99_is_worse}},
      {{sample}, {sample}, "server CPU", cannot_tell, {}},  // not known by the second
      {{without_server}, {sample}, "server CPU", not_measured, {}},
      {{sample}, {silent}, "throughput", not_measured, {"B: a run was not answered at all"}},
      {{sample}, {timeouts(7)}, "errors", worse, {"B has 7 errors, A none"}},
      {{timeouts(7)}, {sample}, "errors", better, {}},
      {{timeouts(7)}, {wrong}, p99, no_difference_seen, {"B has 2 wrong answers, A none"}},
      {{timeouts(10), timeouts(0), timeouts(12)},
       {timeouts(2000), timeouts(2100), timeouts(1900)},
       "errors",
       worse,
       {"errors is worse (0.00733 to 1.96 % of requests)"}},
      {{sample}, {audit_failed}, p99, no_difference_seen, {"B: the audit failed"}},
  };
  for (std::size_t row = 0; row < std::size(rows); ++row) {
    const auto& [a, b, name, verdict, regressions] = rows[row];
    INFO("row " << row);
    const Comparison comparison = compare(a, b, 5);
    CHECK(metric(comparison, name).verdict == verdict);
    CHECK(comparison.regressions == regressions);
  }
  CHECK(compare({sample}, {slightly_slow}, 1).regressions.size() == 1);
}

TEST_CASE("how the runs were not made alike is listed") {
  Json other = sample_report();
  other["load"]["clients"] = 100;
  other["server"]["policy"] = "loop";
  other["server"]["description"] = "private server, policy=loop";
  other["workload"]["account_prefix"] = "99";
  other["machine"]["kernel"] = "6.19";
  other["load"]["new_option"] = "x";
  other["load"].erase("arrivals");
  CHECK(compare({sample_report()}, {other}, 5).unlike ==
        Lines{"load.clients: A 200, B 100", "load.new_option: A none, B x",
              "server.policy: A pool, B loop", "machine.kernel: A 6.18, B 6.19"});
  CHECK(compare({sample_report(), other}, {sample_report(), other}, 5).unlike == Lines{});
}

TEST_CASE("what makes the figures of a run doubtful is a warning") {
  Json report = sample_report();
  report["client_was_the_bottleneck"] = true;
  report["result"]["stolen_cpu_share"] = 0.1;
  report["result"]["stopped_early"] = true;
  report["expectations"] = {{{"text", "p99<1ms"}, {"met", false}}};
  report["audit"] = {{"passed", false}};
  CHECK(compare({report}, {sample_report()}, 5).warnings.back() == "A: the audit failed");
  CHECK(
      compare({sample_report()}, {report}, 5).warnings ==
      Lines{
          "B: the client was the bottleneck, so that its figures are not the server's",
          "B: a hypervisor took up to 10.0 % of the machine's CPU time, so that latencies include "
          "its pauses",
          "B: stopped early", "B: did not meet p99<1ms"});
}

TEST_CASE("compare exits with 0, 1 for a regression, 2 for its usage") {
  const Folder folder;
  const std::string a = folder.file("a.json", sample_report()),
                    b = folder.file("b.json", slower(1.2));
  CHECK(run({a, a}).code == 0);
  CHECK(run({a, b}).code == 1);
  CHECK(run({b, a}).code == 0);
  CHECK(run({a, b, "--tolerance", "25"}).code == 0);
  CHECK(run({a + "," + a, b + "," + b}).code == 1);
  CHECK(run({"--help"}).code == 0);
  CHECK(run({}).code == 2);
  CHECK(run({a}).code == 2);
  CHECK(run({a, ","}).code == 2);
  CHECK(run({a, b, "--tolerance", "much"}).code == 2);
  CHECK(run({a, b, "--tolerance", "nan"}).code == 2);
}

TEST_CASE("runs that are too short, or not answered, are not said to be without regression") {
  Json brief = sample_report();
  brief["series"] = Json::array({brief["series"][0]});
  const Folder folder;
  const Finished outcome = run({folder.file("a.json", brief), folder.file("b.json", brief)});
  CHECK(outcome.code == 4);
  CHECK_THAT(outcome.out, contains_text("Cannot tell: throughput, response p99 without"));
  CHECK_THAT(outcome.out, contains_text("five measured seconds, or in two runs"));
  CHECK(outcome.out.find("No regression") == std::string::npos);
  Json silent = sample_report();
  silent["result"]["answered"] = silent["result"]["requests_per_s"] = 0;
  const Finished unanswered = run({folder.file("a.json", silent), folder.file("b.json", silent)});
  CHECK(unanswered.code == 4);
  CHECK_THAT(unanswered.out, contains_text("Cannot tell: throughput"));
}

TEST_CASE("compare prints a table, the doubts and the regression") {
  const Folder folder;
  Json other = slower(1.2);
  other["load"]["clients"] = 100;
  const Finished outcome =
      run({folder.file("a.json", sample_report()), folder.file("b.json", other)});
  CHECK_THAT(outcome.out, contains_text("a.json  (commit 1436c54)\nB  "));
  CHECK_THAT(
      outcome.out,
      contains_text(
          "response p99, ms                  3.50        4.20    1.200    1.188 to 1.212   worse\n"));
  CHECK_THAT(
      outcome.out,
      contains_text(
          "throughput, requests/s          10,000      10,000    1.000    0.990 to 1.010   no difference seen\n"));
  CHECK_THAT(outcome.out, contains_text("understate how much runs differ"));
  CHECK_THAT(
      outcome.out,
      contains_text("WARNING: the runs were not made alike:\n  load.clients: A 200, B 100\n"));
  CHECK_THAT(outcome.out, contains_text("\nREGRESSION: response p99 is worse (3.50 to 4.20 ms)\n"));
  CHECK(outcome.errors == "");
}

TEST_CASE("compare puts each further report beside the first") {
  const Folder folder;
  const std::string a = folder.file("a.json", sample_report()),
                    b = folder.file("b.json", slower(1.0)), c = folder.file("c.json", slower(1.2));
  const Finished outcome = run({a, b, c});
  CHECK(outcome.code == 1);
  CHECK_THAT(outcome.out, contains_text("A  " + a + "  (commit 1436c54)\nB  " + b));
  CHECK_THAT(outcome.out, contains_text("A  " + a + "  (commit 1436c54)\nB  " + c));
  CHECK_THAT(outcome.out, contains_text("No regression beyond 5 %."));
  CHECK_THAT(outcome.out, contains_text("REGRESSION: response p99 is worse"));
  CHECK(run({a, b, folder / "no.json"}).code == 2);
}

TEST_CASE("a file that cannot be used is named, with what is wrong with it") {
  const Folder folder;
  const std::string good = folder.file("good.json", sample_report());
  Json foreign = sample_report(), hollow = sample_report();
  foreign["format"] = "something/2";
  hollow["result"].erase("requests_per_s");
  const struct {
    std::string path, wrong;
  } files[] = {
      {folder / "absent.json", "cannot be read: No such file or directory"},
      {folder.file("cut.json", sample_report().dump().substr(0, 50)),
       "is not JSON: parse error at line 1, column 51"},
      {folder.file("empty.json", std::string()), "is not JSON: parse error at line 1, column 1"},
      {folder.file("list.json", std::string("[]")),
       "is not a report of loadgen: its format is not given"},
      {folder.file("foreign.json", foreign),
       "is not a report of loadgen: its format is \"something/2\""},
      {folder.file("hollow.json", hollow), "the result has no throughput"},
  };
  for (const auto& [path, wrong] : files) {
    const Finished outcome = run({good, path});
    CHECK(outcome.code == 2);
    CHECK_THAT(outcome.errors, contains_text("loadgen compare: " + path + ": " + wrong));
    CHECK(outcome.out == "");
  }
}

TEST_CASE("numbers have thousands separators and three figures") {
  CHECK(number_text(0) == "0");
  CHECK(number_text(0.012345) == "0.0123");
  CHECK(number_text(3.2149) == "3.21");
  CHECK(number_text(48.25) == "48.2");
  CHECK(number_text(999.6) == "1,000");
  CHECK(number_text(1'234'567.8) == "1,234,568");
  CHECK(number_text(-1234) == "-1,234");
  CHECK(number_text(-123) == "-123");
  CHECK(number_text(std::nan("")) == "-");
  CHECK(exact_text(0.05) == "0.05");
  CHECK(exact_text(1234.5) == "1,234.5");
}
