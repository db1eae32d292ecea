// The tester against our own server, under every policy and style of replies. Against servers with
// planted faults: testing/conformance.

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <pugixml.hpp>
#include <set>
#include <string>

#include "catch.hpp"
#include "support/server_process.hpp"
#include "tools/conformance/cases.hpp"
#include "tools/conformance/report.hpp"

using namespace exchange;
using namespace exchange::conformance;
using exchange::testing::ServerProcess;
using namespace std::string_literals;

namespace {

ConformanceReport test(const ServerProcess& server, const std::set<std::string>& rules = {},
                       const std::string& connection = "auto") {
  ConformanceOptions options;
  options.target.address = "127.0.0.1:" + std::to_string(server.port());
  options.target.connection = connection;
  options.rounds = 1;
  options.rules = rules;
  options.strict = true;
  return run(options, [](auto...) {});
}

std::string lost(const ConformanceReport& report) {
  std::string text = report.stopped;
  for (const RuleResult& result : report.rules)
    if (result.rule.untested.empty() && result.outcome != RuleOutcome::kept)
      text += result.rule.number + " " + name_of(result.outcome) + ": " + result.why + "\n";
  return text;
}

}  // namespace

TEST_CASE("the server keeps every rule under every policy") {
  const std::string policy = GENERATE("thread", "pool", "loop");
  const ServerProcess server({"--policy", policy, "--store", "memory:"});
  const ConformanceReport report = test(server);
  CHECK(lost(report) == "");
  CHECK(report.score() == 100);
  CHECK(report.all_kept());
  CHECK(report.form.empty());
  CHECK_FALSE(report.style.length_lines);
  CHECK_FALSE(report.style.per_request);
}

TEST_CASE("length lines before replies, and a server that closes after them, are found out") {
  const ServerProcess length({"--reply-framing", "length", "--store", "memory:"}),
      closing({"--close-after-reply", "--store", "memory:"});
  const std::set<std::string> some = {"F1", "X6", "R3", "R6", "C9", "T6", "T16", "M4", "T17"};
  const ConformanceReport framed = test(length, some);
  CHECK(lost(framed) == "");
  CHECK(framed.style.length_lines);
  CHECK_FALSE(framed.style.per_request);
  const ConformanceReport closed = test(closing, some);
  CHECK(lost(closed) == "R6 broken: the server closes the connection after a reply\n");
  CHECK(closed.style.per_request);
}

TEST_CASE("each rule has a case or a reason why it has none") {
  std::set<std::string> tested;
  for (const Case& one : all_cases()) tested.insert(one.rule);
  const std::vector<Rule> rules = all_rules();
  CHECK(rules.size() > 100);
  for (const Rule& rule : rules) {
    INFO(rule.number);
    CHECK(tested.contains(rule.number) == rule.untested.empty());
    CHECK_FALSE(rule.sentence.empty());
    tested.erase(rule.number);
    // the course protocol says it, or this exchange does
    CHECK_FALSE((rule.course && rule.level == Level::ours));
    CHECK_FALSE((!rule.course && rule.level == Level::must));
  }
  CHECK(tested == std::set<std::string>());
}

TEST_CASE("rules are read from the page, over several lines, without their origins") {
  const std::vector<Rule> rules = read_rules(
      "# A page\n\n- **F1** One (or `two`) lines. (course: framing)\n- **Z9** Words that go\n"
      "  on, and on.\n  (ours: \"a test\", framing)\n\ntext\n");
  REQUIRE(rules.size() == 2);
  CHECK(rules[0].number == "F1");
  CHECK(rules[0].sentence == "One (or `two`) lines.");
  CHECK(rules[0].course);
  CHECK(rules[1].number == "Z9");
  CHECK(rules[1].sentence == "Words that go on, and on.");
  CHECK_FALSE(rules[1].course);
}

TEST_CASE("replies are compared by meaning") {
  const std::string pretty =
      "<?xml version='1.0'?>\n<results>\n <status id='3'>\n  <executed price='127.50' time='5' "
      "shares='2.00'/>\n </status>\n <error sym='S'> no </error></results>";
  CHECK(canonical(pretty) ==
        "<results><status id=\"3\"><executed shares=\"2\" price=\"127.5\" time=\"5\"/></status>"
        "<error sym=\"S\">no</error></results>");
  const std::vector<Element> elements = read_answer(pretty);
  REQUIRE(elements.size() == 2);
  CHECK(elements[0].attribute("id") == "3");
  CHECK(elements[0].children.at(0).attribute("price") == "127.50");
  CHECK(elements[1].text == "no");
  CHECK_THROWS_AS(read_answer("<results><a></results>"), BadAnswer);
  CHECK_THROWS_AS(read_answer("<error/>"), BadAnswer);
  CHECK(units_of("127.50") == 12'750'000'000);
  CHECK(units_of("1.275E2") == 12'750'000'000);
  CHECK(units_of("0.30000000000000004") == 30'000'000);
  CHECK(units_of("$5") == 500'000'000);
  CHECK_FALSE(units_of("five"));
  CHECK_FALSE(units_of("1e300"));
}

TEST_CASE("reports escape what a server sent") {
  ConformanceReport report{.server = "127.0.0.1:1", .seed = 1};
  report.rules.push_back({.rule = {.number = "M4", .sentence = "Best first.", .level = Level::must},
                          .outcome = RuleOutcome::broken,
                          .case_name = "a case",
                          .why = "got </script><b>\"&\x1b[31m",
                          .conversation = {{"<create/>", "]]></failure>\xff"}}});
  CHECK(report.points_max() == 3);
  CHECK(report.score() == 0);
  CHECK_FALSE(report.all_kept());
  const auto json = nlohmann::json::parse(json_of(report));
  CHECK(json["rules"][0]["result"] == "broken");
  CHECK(json["rules"][0]["why"] == "got </script><b>\"&\x1b[31m");
  CHECK(text_of(report).find('\x1b') == std::string::npos);
  pugi::xml_document junit;
  REQUIRE(junit.load_string(junit_of(report).c_str()));
  const pugi::xml_node failure = junit.child("testsuite").child("testcase").child("failure");
  CHECK(failure.attribute("message").value() == "a case: got </script><b>\"&?[31m"s);
  CHECK(std::string(failure.text().get()).find("]]></failure>\uFFFD") != std::string::npos);
  CHECK(html_of(report).find("</script><b>") == std::string::npos);
}

TEST_CASE("a server that does not answer gets no points, and the report says why") {
  // accepts connections and is silent
  const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  socklen_t bytes = sizeof address;
  REQUIRE(::bind(listener, reinterpret_cast<sockaddr*>(&address), bytes) == 0);
  REQUIRE(::listen(listener, 16) == 0);
  REQUIRE(::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &bytes) == 0);
  ConformanceOptions options;
  options.target.address = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
  options.target.timeout_s = 0.1;
  const ConformanceReport report = run(options, [](auto...) {});
  ::close(listener);
  CHECK(report.stopped.find("got no reply: no reply within 100 ms") != std::string::npos);
  CHECK(report.points() == 0);
  CHECK(report.points_max() > 50);
  CHECK_FALSE(report.all_kept());
}
