// Tests the conformance tester against our own server, under every policy and style of replies, and
// against servers that are slow, die or flood. course/conformance tests it against servers with
// planted faults.

#include <algorithm>
#include <atomic>
#include <boost/asio/buffer.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "catch.hpp"
#include "client/connection/command_line.hpp"
#include "course/conformance/cases.hpp"
#include "course/conformance/run.hpp"
#include "support/folder.hpp"
#include "support/local_port.hpp"
#include "support/policies.hpp"
#include "support/server_process.hpp"
#include "support/wait_for.hpp"

using namespace exchange;
using namespace exchange::conformance;
using exchange::testing::LocalPort;
using exchange::testing::ServerProcess;
using exchange::testing::TemporaryFolder;
using namespace std::string_literals;

namespace {

ConformanceReport test(
    const ServerProcess& server, const std::set<std::string>& rules = {},
    const Look& look = [](auto...) {}) {
  ConformanceOptions options;
  options.target.address = "127.0.0.1:" + std::to_string(server.port());
  options.rounds = 1;
  options.rules = rules;
  options.strict = true;
  return run(options, look);
}

// A server that replies to documents with fixed texts, and ends the connection if a text is empty.
class Toy {
 public:
  explicit Toy(std::function<std::string(const std::string& document)> reply)
      : reply_(std::move(reply)) {}

  ConformanceOptions options(const std::set<std::string>& rules) const {
    ConformanceOptions options;
    options.target.address = address();
    options.target.timeout_s = 0.2;
    options.target.restart_s = 0.3;
    options.target.start_s = 0.3;
    options.rounds = 1;
    options.rules = rules;
    return options;
  }
  ConformanceReport test(const std::set<std::string>& rules) const {
    return run(options(rules), [](auto...) {});
  }
  std::string address() const { return port_.address(); }

 private:
  void serve(LocalPort::tcp::socket socket) const {
    std::string bytes;
    while (true) {
      const auto buffer = boost::asio::dynamic_buffer(bytes);
      const std::size_t line = boost::asio::read_until(socket, buffer, '\n');
      const std::size_t length = line == 1 ? 0 : std::stoul(bytes);
      bytes.erase(0, line);
      if (line == 1) continue;  // white space after a request
      if (bytes.size() < length)
        boost::asio::read(socket, buffer, boost::asio::transfer_exactly(length - bytes.size()));
      const std::string reply = reply_(bytes.substr(0, length));
      bytes.erase(0, length);
      if (reply.empty()) return;
      boost::asio::write(socket, boost::asio::buffer(reply));
    }
  }

  const std::function<std::string(const std::string&)> reply_;
  const LocalPort port_{[this](LocalPort::tcp::socket socket) { serve(std::move(socket)); }};
};

const std::string created = "<results><created/></results>\n";

const RuleResult& result_of(const ConformanceReport& report, const std::string& rule) {
  return *std::ranges::find_if(report.rules,
                               [&](const RuleResult& one) { return one.rule.number == rule; });
}

std::string lost(const ConformanceReport& report) {
  std::string text = report.stopped;
  for (const RuleResult& result : report.rules)
    if (result.rule.untested.empty() && result.outcome != RuleOutcome::kept)
      text += result.rule.number + " " + to_string(result.outcome) + ": " + result.why + "\n";
  return text;
}

}  // namespace

TEST_CASE("the server keeps every rule under every policy") {
  const std::string policy = GENERATE(from_range(testing::policy_names()));
  const ServerProcess server({"--policy", policy, "--store", "memory:"});
  const ConformanceReport report = test(server);
  CHECK(lost(report) == "");
  CHECK(report.score() == 100);
  CHECK(report.all_kept());
  CHECK(report.form.empty());
  CHECK_FALSE(report.style.length_lines);
  CHECK_FALSE(report.style.per_request);
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
    CHECK(rule.sentence.find("(" + std::string(to_string(rule.level)) + ": ") == std::string::npos);
    tested.erase(rule.number);
  }
  CHECK(tested == std::set<std::string>());
}

TEST_CASE("a step of a case that is not kept says what was expected, or ends the case") {
  const std::string order = "<results><opened id=\"7\" amount=\"2.0\"/></results>",
                    state =
                        "<results><status><open shares=\"2\"/><executed shares=\"1\" "
                        "price=\"4\" time=\"5\"/></status></results>";
  const auto [steps, reply, why] = GENERATE_COPY(table<std::string, std::string, std::string>({
      {"send <x/> gets <opened id=\"=o\" amount=\"2\"/> -- A\n  expect o = 7 -- B", order, ""},
      {"send <x/> gets <opened id=\"6\"/> -- A", order,
       "A: <opened id=\"6\"/> was expected, got <opened id=\"7\" amount=\"2.0\"/>"},
      {"send <x/> gets <opened amount=\"\"/> -- A", order,
       "A: <opened amount=\"\"/> was expected, got <opened id=\"7\" amount=\"2.0\"/>"},
      {"send <x/> gets errors -- A", order,
       "A: an error was expected, got <opened id=\"7\" amount=\"2.0\"/>"},
      {"send <x/> gets nothing -- A", order, "the reply should have 0 elements, has 1"},
      {"let a = 3\n  send <x/> gets <opened id=\"=o\"/>\n  refused a buys 1 a at 2 -- A", order,
       "A: <error> was expected, got <opened id=\"7\" amount=\"2.0\"/>"},
      {"send <transactions id=\"3\"/> gets <any id=\"=o\"/>\n  o has open 2 -- A", order,
       "<status> was expected, got <opened id=\"7\" amount=\"2.0\"/>"},
      {"send <x/> gets <status><open/></status> -- A", state,
       "A: <status><open/></status> was expected, got <status><open shares=\"2\"/><executed "
       "shares=\"1\" price=\"4\" time=\"5\"/></status>"},
      {"expect 2*(3-0.5)/4 >= 1.5 -- A", order, "A: 1.25 >= 1.5 was expected"},
      {"for i in 1..3\n    if i > 2\n      expect {i times x} = 0 -- A{i}", order,
       "x.txt:4: 'xxx' is neither a number nor a variable"},
      {"a buys 1 s at 1", order, "x.txt:2: 's' is neither a number nor a variable"},
      {"where send <x/> gets errors\n  send <x/> gets errors -- A", order, ""},
      {"where send <x/> gets <opened/>\n  send <x/> gets errors -- A", order,
       "A: an error was expected, got <opened id=\"7\" amount=\"2.0\"/>"},
      {"a dances", order, "x.txt:2: no such step"},
      {"send <x/>", order, "x.txt:2: 'gets' is missing"},
  }));
  const Toy toy([&, &text = reply](const std::string&) { return text; });
  Target target(toy.options({}).target, [] { return "<create/>"s; });
  Source source("1234");
  Talk talk(target, source);
  const Case one = read_cases("x.txt", "M1 a case\n  " + steps).at(0);
  CHECK((one.rule == "M1" && one.name == "a case" && !one.once));
  INFO(steps);
  if (why.empty())
    CHECK_NOTHROW(one.run(talk));
  else
    CHECK_THROWS_WITH(one.run(talk), why);
}

TEST_CASE("replies are compared by meaning") {
  const std::string pretty =
      "<?xml version='1.0'?>\n<results>\n <status id='3'>\n  <executed price='127.50' time='5' "
      "shares='2.00'/>\n </status>\n <error sym='S'> no </error></results>";
  CHECK(canonical(pretty) ==
        "<results><status id=\"3\"><executed shares=\"2\" price=\"127.5\" time=\"5\"/></status>"
        "<error sym=\"S\">no</error></results>");
  CHECK(canonical("<results><opened id='1' limit='2' ref='a' amount='3' sym='S'/>"
                  "<replaced limit='2' ref='a' amount='3' id='1'/></results>") ==
        "<results><opened sym=\"S\" amount=\"3\" limit=\"2\" id=\"1\" ref=\"a\"/>"
        "<replaced id=\"1\" ref=\"a\" amount=\"3\" limit=\"2\"/></results>");
  const std::vector<Element> elements = read_reply(pretty).elements;
  REQUIRE(elements.size() == 2);
  CHECK(elements[0].attribute("id") == "3");
  CHECK(elements[0].children.at(0).attribute("price") == "127.50");
  CHECK(elements[1].text == "no");
  CHECK_THROWS_AS(read_reply("results"), BadReply);
  CHECK(units_of("127.50") == 12'750'000'000);
  CHECK(units_of("1.275E2") == 12'750'000'000);
  CHECK(units_of("0.30000000000000004") == 30'000'000);
  CHECK(units_of("$5") == 500'000'000);
  CHECK_FALSE(units_of("five"));
  CHECK_FALSE(units_of("1e300"));
}

TEST_CASE("what is not well-formed is read where its meaning is plain") {
  const auto [document, open, price, text] =
      GENERATE(table<std::string, std::string, std::string, std::string>({
          {"<results><status id=3><open shares=1/><x price='5'/></status><error/></results>", "1",
           "5", ""},
          {"<results><status id = 3 ><open shares=1 /><x price=5></x></status><error/></results>",
           "1", "5", ""},
          {"<results><status id='3'><open shares='1'time='2'/><x price=\"5\"/></status>"
           "<error>0 < 1 = x</error></results>",
           "1", "5", "0 < 1 = x"},
      }));
  INFO(document);
  const Reply answer = read_reply(document);
  CHECK(answer.problem.find("not well-formed") != std::string::npos);
  REQUIRE(answer.elements.size() == 2);
  const Element& status = answer.elements[0];
  CHECK(status.attribute("id") == "3");
  REQUIRE(status.children.size() == 2);
  CHECK(status.children[0].attribute("shares") == open);
  CHECK(status.children[1].attribute("price") == price);
  CHECK(answer.elements[1].text == text);
}

TEST_CASE("reports escape what a server sent") {
  ConformanceReport report{.server = "127.0.0.1:1", .seed = 1};
  report.rules.push_back({.rule = {.number = "M4", .sentence = "Best first.", .level = Level::must},
                          .outcome = RuleOutcome::broken,
                          .case_name = "a case",
                          .why = "got </script><b>\"&\x1b[31m",
                          .conversation = {{"<create/>", "]]>\xff"},
                                           {"<\tcreate>", "1\x7f 2\u009b 3\uFFFE 4\u00a0"}}});
  CHECK(report.points_max() == 3);
  CHECK(report.score() == 0);
  CHECK_FALSE(report.all_kept());
  const auto json = nlohmann::json::parse(to_json(report));
  CHECK(json["rules"][0]["result"] == "broken");
  CHECK(json["rules"][0]["why"] == "got </script><b>\"&\x1b[31m");
  CHECK(text_of(report).find('\x1b') == std::string::npos);
  CHECK(text_of(report).find("sent  <\tcreate>\n    got   1? 2? 3? 4\u00a0\n") !=
        std::string::npos);
}

TEST_CASE("a reply that is none of the protocol breaks R1 and no other rule") {
  const auto account_of = [](const std::string& document) {
    const std::size_t begin = document.find("id=\"") + 4;
    return document.substr(begin, document.find('"', begin) - begin);
  };
  std::set<std::string> known;
  const auto [error, created_by] = GENERATE(table<std::string, std::string>({
      {"<result><error>no</error></result>\n", "<result><created id=\"?\"/></result>\n"},
      {"<results><error>0 < 1</error></results>\n", "<results><created id=\"?\"/></results>\n"},
      {"<results><error>what is <x>?</error></results>\n",
       "<results><created id=\"?\"/></results>\n"},
      {"<error>no</error>\n", "<results><created id=\"?\"/></results>\n"},
  }));
  const Toy toy([&](const std::string& document) {
    const std::string id = account_of(document);
    if (document.find("<symbol") == std::string::npos && !known.insert(id).second) return error;
    return std::string(created_by).replace(created_by.find('?'), 1, id);
  });
  const ConformanceReport report = toy.test({"R1", "C5", "R6"});
  CHECK(result_of(report, "R1").outcome == RuleOutcome::broken);
  CHECK(result_of(report, "R1").why.find("the reply") != std::string::npos);
  for (const char* const rule : {"C5", "R6"})
    CHECK(result_of(report, rule).outcome == RuleOutcome::kept);
}

TEST_CASE("a server whose replies are not XML at all breaks R1") {
  const Toy toy([](const std::string&) { return "OK\n"; });
  const ConformanceReport report = toy.test({"R1", "M4"});
  CHECK(result_of(report, "R1").outcome == RuleOutcome::broken);
  CHECK(result_of(report, "R1").why == "what came is not a reply: OK\n");
  CHECK(result_of(report, "M4").outcome == RuleOutcome::untested);
  CHECK(report.stopped.find("what came is not a reply") != std::string::npos);
}

TEST_CASE("what is shown is what costs points, must first, and all of it if asked for") {
  ConformanceReport report{.server = "127.0.0.1:1", .seed = 1};
  for (const auto& [number, level] :
       {std::pair{"E1", Level::ours}, {"X4", Level::should}, {"M4", Level::must}})
    report.rules.push_back({.rule = {.number = number, .sentence = "A sentence.", .level = level},
                            .outcome = RuleOutcome::broken,
                            .case_name = "a case",
                            .why = "why"});
  const auto shows = [&](Level shown, const char* rule) {
    return text_of(report, shown).find(std::string(rule) + ") is broken: A sentence.") !=
           std::string::npos;
  };
  CHECK(shows(Level::must, "M4 (must"));
  CHECK_FALSE(shows(Level::must, "X4 (should"));
  CHECK(shows(Level::should, "X4 (should"));
  CHECK_FALSE(shows(Level::should, "E1 (ours"));
  CHECK(shows(Level::ours, "E1 (ours"));
  const std::string text = text_of(report);
  CHECK(text.find("M4 (must)") < text.find("X4 (should)"));
  CHECK(text.find("without loss of points (--level ours shows them): E1\n") != std::string::npos);
}

TEST_CASE("a connection that ends without a reply names what was sent") {
  const Toy toy([](const std::string& document) {
    return document.find("<symbol") == std::string::npos ? created : "";
  });
  const RuleResult result = result_of(toy.test({"C12"}), "C12");
  CHECK(result.outcome == RuleOutcome::broken);
  CHECK(result.why.find("the server closed the connection without a reply; what was sent: "
                        "<create><symbol sym=") == 0);
}

TEST_CASE("a server that does not answer gets no points, and the report says why") {
  const LocalPort silent([](LocalPort::tcp::socket socket) {
    char byte;
    while (boost::asio::read(socket, boost::asio::buffer(&byte, 1)) == 1) {
    }
  });
  ConformanceOptions options;
  options.target.address = silent.address();
  options.target.timeout_s = 0.1;
  options.target.start_s = 0.5;
  const ConformanceReport report = run(options, [](auto...) {});
  CHECK(report.stopped.find("got no reply: no reply within 100 ms") != std::string::npos);
  CHECK(report.points() == 0);
  CHECK(report.points_max() > 50);
  CHECK_FALSE(report.all_kept());
}

TEST_CASE("a slow first reply does not look like a server that waits for a newline or the end") {
  const double seconds = GENERATE(0.3, 0.5, 0.7);
  std::atomic<bool> first = true;
  const Toy toy([&](const std::string&) {
    if (first.exchange(false)) std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
    return created;
  });
  ConformanceOptions options = toy.options({"R1"});
  options.target.start_s = 30;
  const ConformanceReport report = run(options, [](auto...) {});
  CHECK(lost(report) == "");
  CHECK_FALSE(report.style.wants_newline);
  CHECK_FALSE(report.style.wants_end);
  CHECK_FALSE(report.style.per_request);
}

TEST_CASE("blanks before a reply are not a length line, and any address of a name will do") {
  const Toy toy([](const std::string&) { return "\r\n " + created; });
  ConformanceOptions options = toy.options({"R1"});
  options.target.address.replace(0, sizeof "127.0.0.1" - 1, "localhost");
  const ConformanceReport report = run(options, [](auto...) {});
  CHECK(lost(report) == "");
  CHECK_FALSE(report.style.length_lines);
}

TEST_CASE("rules that give points are tested first, of these many clients at once last") {
  const ServerProcess server({"--store", "memory:"});
  std::vector<std::string> order;
  const auto look = [&](std::size_t, std::size_t, const std::string& name) {
    const std::string rule = name.substr(0, name.find(' '));
    if (order.empty() || order.back() != rule) order.push_back(rule);
  };
  const ConformanceReport report = test(server, {"F4", "C1", "M4", "M11", "T17"}, look);
  CHECK(lost(report) == "");
  CHECK(order == std::vector<std::string>{"C1", "M4", "T17", "F4", "M11"});
}

TEST_CASE("a rule is tested with the same data, alone and among others") {
  const Toy toy([](const std::string&) { return created; });
  const auto balance = [&](const std::set<std::string>& rules) {
    const std::string sent = result_of(toy.test(rules), "C5").conversation.at(0).sent;
    return sent.substr(sent.find("balance"));
  };
  CHECK(balance({"C5"}) == balance({"C1", "R6", "C5"}));
}

TEST_CASE("ids have nine digits and are not those of an earlier run") {
  std::set<std::string> known;
  std::size_t longest = 0;
  const Toy toy([&](const std::string& document) {
    const std::size_t begin = document.find("id=\"") + 4;
    const std::string id = document.substr(begin, document.find('"', begin) - begin);
    longest = std::max(longest, id.size());
    return known.insert(id).second ? created : "<results><error>exists</error></results>\n";
  });
  for (int i = 0; i < 3; ++i) CHECK(lost(toy.test({"R1", "R6"})) == "");
  CHECK(longest == 9);
}

TEST_CASE("a server that dies after its reply loses the rule of that case, and may be restarted") {
  const TemporaryFolder folder;
  std::atomic<bool> dead = false;
  const Toy toy([&](const std::string& document) -> std::string {
    if (dead && !std::filesystem::exists(folder / "alive")) return "";
    dead = dead || document.find("<create/>") != std::string::npos;
    return document.find("<account") == std::string::npos ? "<results></results>\n" : created;
  });
  const auto [command, stopped, restarts] = GENERATE(table<std::string, std::string, unsigned>({
      {"", "there is no restart command", 0},
      {"exit 3", "the restart command failed", 1},
      {"sleep 60", "'sleep 60' does not end", 1},
      {"true", "it does not answer after the restart command", 1},
      {"sleep 1 & touch ", "", 1},
  }));
  ConformanceOptions options = toy.options({"C2", "R6", "C15"});
  options.target.restart = command.ends_with(' ') ? command + folder / "alive" : command;
  const auto start = std::chrono::steady_clock::now();
  const ConformanceReport report = run(options, [](auto...) {});
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(5));
  const RuleResult& c2 = result_of(report, "C2");
  CHECK(c2.outcome == RuleOutcome::broken);
  CHECK(c2.why == "the server does not answer any more after the case");
  CHECK(c2.conversation.back().sent == "<create/>");
  CHECK(result_of(report, "R6").outcome == RuleOutcome::kept);
  CHECK(report.restarts == restarts);
  CHECK_THAT(report.stopped, Catch::Matchers::EndsWith(stopped));
  const RuleResult& next = result_of(report, "C15");
  CHECK(next.outcome == (stopped.empty() ? RuleOutcome::broken : RuleOutcome::untested));
  if (!stopped.empty()) CHECK(next.why == "the server was gone");
}

TEST_CASE("an interrupted test keeps what it has found") {
  const ServerProcess server({"--store", "memory:"});
  unsigned cases = 0;  // of C9
  const ConformanceReport report =
      test(server, {"C1", "C9", "C11"}, [&](std::size_t, std::size_t, const std::string& name) {
        if (name.starts_with("C9 ") && ++cases == 2) client::stop_flag() = true;
      });
  client::stop_flag() = false;
  CHECK(report.stopped == "interrupted by a signal");
  CHECK(result_of(report, "C1").outcome == RuleOutcome::kept);
  for (const char* const rule : {"C9", "C11"}) {
    CHECK(result_of(report, rule).outcome == RuleOutcome::untested);
    CHECK(result_of(report, rule).why == "the test was interrupted");
  }
}

TEST_CASE("the program writes its report when it is interrupted") {
  const TemporaryFolder folder;
  std::atomic<unsigned> asked = 0;
  const Toy toy([&](const std::string&) {
    ++asked;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return created;
  });
  testing::ChildProcess program("conformance", {toy.address(), "--json", folder / "report.json"});
  CHECK(wait_for([&] { return asked > 9; }));
  CHECK(program.end_with(SIGINT) == 130);
  CHECK(program.output().find("Ended early: interrupted by a signal") != std::string::npos);
  const auto json = nlohmann::json::parse(testing::contents(folder / "report.json"));
  CHECK(json["stopped"] == "interrupted by a signal");
}

TEST_CASE("long replies are cut between two characters") {
  std::string sentence;
  for (int i = 0; i < 2'000; ++i) sentence += "\u20ac";
  const Toy toy(
      [&](const std::string&) { return "<results><error>" + sentence + "</error></results>\n"; });
  const RuleResult result = result_of(toy.test({"M4"}), "M4");
  CHECK(result.outcome == RuleOutcome::blocked);
  CHECK(result.why.size() > 1'990);
  CHECK(result.why.size() < 2'010);
  CHECK(result.why.ends_with("\u20ac\u2026"));
  CHECK(shortened("a\u20ac", 4) == "a\u20ac");
  CHECK(shortened("a\u20ac", 3) == "a\u2026");
}

TEST_CASE("executions of more than 64 bits are wrong replies") {
  const Toy toy([](const std::string& document) {
    const std::string fill =
        document.find("id=\"2\"") == std::string::npos
            ? "<executed shares=\"90000000000\" price=\"1\" time=\"5\"/>"
            : "<executed shares=\"9000000\" price=\"90000000000\" time=\"5\"/>";
    return "<results><status>" + fill + fill + "</status></results>\n";
  });
  Target target(toy.options({}).target, [] { return "<create/>"s; });
  Source source("1234");
  Talk talk(target, source);
  CHECK_THROWS_AS(talk.status("1", "1"), Broken);
  CHECK_NOTHROW(talk.status("1", "2"));
}

TEST_CASE("a flood of bytes is neither kept nor waited for") {
  const bool blanks = GENERATE(false, true);
  const LocalPort port([&](LocalPort::tcp::socket socket) {
    const std::string bytes(1'000'000, blanks ? ' ' : 'x');
    while (true) boost::asio::write(socket, boost::asio::buffer(bytes));
  });
  Link link(client::resolve(port.address()), 0.5);
  CHECK_FALSE(link.closed_in_time());
  CHECK_THROWS_AS(link.receive(), NoReply);
}
