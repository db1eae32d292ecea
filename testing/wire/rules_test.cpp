// Compares docs/protocol.md with the tests: every rule names an existing script or test case, every
// script is named by a rule, and sources refer to existing rules. Compares its tables with the
// server.

#include <cstring>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "catch.hpp"
#include "engine/commands.hpp"
#include "protocol/reply.hpp"

namespace fs = std::filesystem;
using namespace exchange;

namespace {

const fs::path root = PROJECT_ROOT;

std::string text_of(const fs::path& path) {
  std::ifstream in(path);
  REQUIRE(in);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

struct Rule {
  std::string id, level;
  std::vector<std::string> scripts, cases;
};

// Reads rules such as "- **F1** Text. (ours: script, "test case")", over one or more lines.
std::vector<Rule> read_rules(const std::string& page) {
  std::vector<Rule> rules;
  static const std::regex item(R"re(\n- \*\*([A-Z][0-9]+)\*\* ((?:[^\n]|\n  )*))re"),
      proof(R"re(\((must|should|ours): (.*)\)$)re"), name(R"re("([^"]*)"|([a-z_]+))re");
  for (std::sregex_iterator at(page.begin(), page.end(), item), end; at != end; ++at) {
    Rule rule{.id = (*at)[1]};
    const std::string text = std::regex_replace((*at)[2].str(), std::regex("\n  "), " ");
    std::smatch tests;
    if (std::regex_search(text, tests, proof)) {
      rule.level = tests[1];
      const std::string names = tests[2];
      for (std::sregex_iterator one(names.begin(), names.end(), name); one != end; ++one)
        ((*one)[1].matched ? rule.cases : rule.scripts)
            .push_back((*one)[1].matched ? (*one)[1] : (*one)[2]);
    }
    rules.push_back(std::move(rule));
  }
  return rules;
}

std::vector<fs::path> sources(std::initializer_list<const char*> folders) {
  static const std::set<std::string> kinds{".cpp", ".hpp", ".go", ".py"};
  std::vector<fs::path> paths;
  for (const char* folder : folders)
    for (const auto& entry : fs::recursive_directory_iterator(root / folder))
      if (kinds.contains(entry.path().extension().string())) paths.push_back(entry.path());
  return paths;
}

// Returns the names of all test cases, as the sources have them.
std::set<std::string> case_names() {
  static const std::regex test_case(R"re(TEST_CASE\(\s*"((?:[^"\\]|\\.)*)")re"),
      wrapped(R"re(,\s*"((?:[^"\\]|\\.)*)"\))re");
  std::set<std::string> names;
  for (const fs::path& path : sources({"testing", "course"})) {
    const std::string text = text_of(path);
    for (const std::regex* name : {&test_case, &wrapped})
      for (std::sregex_iterator at(text.begin(), text.end(), *name), end; at != end; ++at)
        names.insert((*at)[1]);
  }
  return names;
}

// Replaces the letters in the tables of elements by these values; other letters may stay.
std::string with_values(std::string text) {
  for (const auto& [letter, value] : {std::pair("\"A\"", "\"7\""),
                                      {"\"B\"", "\"5\""},
                                      {"\"N\"", "\"10\""},
                                      {">N<", ">10<"},
                                      {"\"P\"", "\"2.5\""},
                                      {"\"T\"", "\"9\""},
                                      {"…", ""}})
    for (std::size_t at; (at = text.find(letter)) != std::string::npos;)
      text.replace(at, std::strlen(letter), value);
  return text;
}

// Returns the outcome that has this reply, with the values that the reply shows. If several look
// alike, returns the first; an order gets the number 9.
Outcome outcome_of(const std::string& reply) {
  std::optional<Outcome> found;
  boost::mp11::mp_for_each<boost::mp11::mp_transform<boost::mp11::mp_identity, Outcome>>(
      [&](auto type) {
        using Any = typename decltype(type)::type;
        const std::string name(reply_element<Any>);
        if (found || name.empty() || !std::regex_search(reply, std::regex("^<" + name + "[ >]")))
          return;
        Any outcome{};
        if constexpr (requires { outcome.status; }) outcome.status.order = 9;
        if constexpr (requires { outcome.order; }) outcome.order = 9;
        if constexpr (requires { std::size(outcome_attributes<Any>); })
          for_each_outcome_attribute<Any>([&](auto place) {
            constexpr auto& attribute = outcome_attributes<Any>[place];
            std::smatch value;
            const std::regex one(" " + std::string(attribute.name) + "=\"([^\"]*)\"");
            if (attribute.read != nullptr && std::regex_search(reply, value, one))
              CHECK(attribute.read(value[1].str(), outcome));
          });
        found = outcome;
      });
  REQUIRE(found);
  return *found;
}

}  // namespace

TEST_CASE("every rule of the account stream names test cases that exist") {
  const std::vector<Rule> rules = read_rules(text_of(root / "docs" / "account-stream.md"));
  CHECK(rules.size() > 20);
  const std::set<std::string> cases = case_names();
  for (std::size_t i = 0; i < rules.size(); ++i) {
    INFO("rule " << rules[i].id);
    CHECK(rules[i].id == "S" + std::to_string(i + 1));
    CHECK(rules[i].scripts.empty());
    CHECK_FALSE(rules[i].cases.empty());
    for (const std::string& name : rules[i].cases) {
      INFO(name);
      CHECK(cases.contains(name));
    }
  }
}

TEST_CASE("every rule of the protocol names its tests, and every script is named by a rule") {
  const std::vector<Rule> rules = read_rules(text_of(root / "docs" / "protocol.md"));
  CHECK(rules.size() > 100);
  std::set<std::string> scripts, named, ids;
  for (const auto& entry : fs::directory_iterator(WIRE_SCRIPTS))
    if (entry.path().extension() == ".txt") scripts.insert(entry.path().stem().string());
  const std::set<std::string> cases = case_names();
  for (const Rule& rule : rules) {
    INFO("rule " << rule.id);
    CHECK(ids.insert(rule.id).second);
    CHECK(rule.level != "");
    CHECK_FALSE((rule.scripts.empty() && rule.cases.empty()));
    for (const std::string& script : rule.scripts) {
      INFO("script " << script);
      CHECK(scripts.contains(script));
      named.insert(script);
    }
    for (const std::string& test : rule.cases) {
      INFO("test case " << test);
      CHECK(cases.contains(test));
    }
  }
  for (const std::string& script : scripts) {
    INFO("no rule names the script " << script);
    CHECK(named.contains(script));
  }
}

TEST_CASE("the page of the protocol lists the error codes, each once") {
  std::string page = text_of(root / "docs" / "protocol.md");
  page = page.substr(page.find("\n### Error codes\n"));
  page = page.substr(0, page.find("\n## "));
  static const std::regex row(R"re(\n\| `([a-z_]+)` \|)re");
  std::vector<std::string> listed, codes;
  for (std::sregex_iterator at(page.begin(), page.end(), row), end; at != end; ++at)
    listed.push_back((*at)[1]);
  for (std::size_t i = 0; i < enumerators<Reason>; ++i) codes.emplace_back(to_code(Reason(i)));
  for (std::size_t i = 0; i < enumerators<ErrorCode>; ++i)
    codes.emplace_back(to_code(ErrorCode(i)));
  CHECK(listed == codes);
  CHECK(std::set<std::string>(codes.begin(), codes.end()).size() == codes.size());
}

TEST_CASE("replies repeat what the tables of the page say, which have each such attribute") {
  const std::string page = text_of(root / "docs" / "protocol.md");
  // a row: | `<request/>` | `<reply/>` and more, or words | `<error>…</error>` |
  static const std::regex row(
      R"re(\n\| `(<[^`]+)` \| (?:`(<[^`]+)`)?[^|]*\|(?: `(<error[^>]*>))?)re");
  std::set<std::pair<int, std::size_t>> shown;  // of a kind: its attributes by their places
  for (std::sregex_iterator at(page.begin(), page.end(), row), end; at != end; ++at) {
    INFO((*at)[0]);
    const std::string element = with_values((*at)[1]);
    const bool is_of_keys = element.starts_with("<set-key");
    bool creates = true;
    for_each_kind([&](auto type) {
      const Element& known = request_element<typename decltype(type)::type>;
      if (known.root == Root::transactions && element.starts_with("<" + std::string(known.name)))
        creates = false;
    });
    std::string text = creates ? "<create>" + element + "</create>"
                               : "<transactions id=\"7\">" + element + "</transactions>";
    XmlDocument document;
    std::vector<RequestElement> elements;
    std::vector<Command> commands;
    std::vector<Credential> credentials;
    const Request request = read_request(text.data(), text.size(), ProtocolLimits(), document,
                                         elements, commands, is_of_keys ? &credentials : nullptr);
    REQUIRE(commands.size() == 1);
    for (std::size_t place = 0; place < attributes_max; ++place)
      if (elements[0].has(place)) shown.emplace(elements[0].kind, place);
    const auto reply = [&](const Outcome& outcome) {
      std::string out;
      append_results(out, request, elements, {&outcome, 1}, false);
      return out;
    };
    if ((*at)[2].matched) {
      const std::string shown_reply = with_values((*at)[2]);
      CHECK(reply(outcome_of(shown_reply)).starts_with("<results>" + shown_reply));
    }
    if ((*at)[3].matched)
      CHECK(reply(Rejected{Reason::unknown_account})
                .starts_with("<results>" + with_values((*at)[3])));
  }
  boost::mp11::mp_for_each<boost::mp11::mp_iota_c<RequestElement::unknown>>([&](auto kind) {
    const auto& attributes = attributes_of<boost::mp11::mp_at<Command, decltype(kind)>>;
    for (std::size_t place = 0; place < std::size(attributes); ++place)
      if (attributes[place].repeated != Repeated::never) {
        INFO("no table shows " << attributes[place].name << " of element " << kind());
        CHECK(shown.contains({kind(), place}));
      }
  });
}

TEST_CASE("sources refer to rules of the protocol that exist") {
  std::set<std::string> ids;
  for (const Rule& rule : read_rules(text_of(root / "docs" / "protocol.md"))) ids.insert(rule.id);
  const std::string page = "docs/protocol.md";
  static const std::regex reference(", ((?:[A-Z][0-9]+(?:, | and | to )?)+)"), id("[A-Z][0-9]+");
  std::size_t references = 0;
  for (const fs::path& path : sources({"server", "client", "testing"})) {
    const std::string text = text_of(path);
    for (std::size_t at = text.find(page); at != std::string::npos; at = text.find(page, at + 1)) {
      std::smatch found;
      const std::string behind = text.substr(at + page.size(), 60);
      if (!std::regex_search(behind, found, reference, std::regex_constants::match_continuous))
        continue;
      const std::string list = found[1];
      const std::sregex_iterator end;
      for (std::sregex_iterator one(list.begin(), list.end(), id); one != end;
           ++one, ++references) {
        INFO(path << ": rule " << one->str());
        CHECK(ids.contains(one->str()));
      }
    }
  }
  CHECK(references > 15);
}
