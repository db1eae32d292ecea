// Tests the rules of DESIGN.md, "Layers": reads every #include and every forward declaration under
// server/, client/, testing/, studies/ and course/ and names file:line of each that breaks them.

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "catch.hpp"

namespace {

namespace fs = std::filesystem;
using Lines = std::vector<std::string>;

// The layers or single files of the project that the files of a layer may include or
// forward-declare. A file directly in server/ or client/ is a layer of its own. A layer without a
// line here is a violation: add a line with what it may include.
const std::map<std::string, std::set<std::string>> allowed = {
    {"server/options",
     {"server/options", "server/base", "server/auth/limits.hpp", "server/core/limits.hpp",
      "server/engine/limits.hpp", "server/web/limits.hpp", "server/net/limits.hpp",
      "server/protocol/limits.hpp", "server/store/limits.hpp"}},
    {"server/main.cpp", {"server/*"}},
    {"server/base", {"server/base"}},
    {"server/engine",
     {"server/engine", "server/base/text.hpp", "server/base/ensure.hpp",
      "server/base/described.hpp", "server/base/option.hpp"}},
    {"server/metrics", {"server/metrics", "server/engine", "server/base"}},
    {"server/protocol",
     {"server/engine", "server/protocol", "server/auth/credentials.hpp", "server/base/text.hpp",
      "server/base/ensure.hpp", "server/base/described.hpp", "server/base/option.hpp"}},
    {"server/journal", {"server/engine", "server/base", "server/journal"}},
    {"server/store", {"server/journal", "server/engine", "server/base", "server/store"}},
    {"server/core",
     {"server/engine", "server/journal", "server/store", "server/metrics", "server/base",
      "server/core"}},
    {"server/timetable",
     {"server/core", "server/engine", "server/metrics", "server/base", "server/timetable"}},
    {"server/auth", {"server/engine", "server/metrics", "server/base", "server/auth"}},
    {"server/market_data", {"server/engine", "server/base", "server/market_data"}},
    {"server/gateway",
     {"server/auth", "server/core", "server/journal", "server/market_data", "server/metrics",
      "server/engine", "server/base", "server/gateway"}},
    {"server/net",
     {"server/gateway", "server/auth", "server/protocol", "server/core", "server/metrics",
      "server/base", "server/net"}},
    {"server/json",
     {"server/protocol", "server/auth/credentials.hpp", "server/market_data",
      "server/store/tables.hpp", "server/base", "server/json"}},
    {"server/days",
     {"server/json", "server/market_data", "server/store", "server/journal", "server/engine",
      "server/base", "server/days"}},
    {"server/websocket",
     {"server/gateway", "server/json", "server/net/any_stream.hpp", "server/market_data",
      "server/metrics", "server/base", "server/websocket"}},
    {"server/web",
     {"server/websocket", "server/days", "server/gateway", "server/json", "server/net",
      "server/auth", "server/protocol", "server/market_data", "server/core", "server/store",
      "server/metrics", "server/engine", "server/base", "server/web"}},
    {"client/connection",
     {"client/connection", "server/engine", "server/protocol", "server/net/any_stream.hpp",
      "server/base/text.hpp"}},
    {"client/loadgen",
     {"client/loadgen", "client/connection", "client/loadgen/audit", "server/protocol",
      "server/net/limits.hpp", "server/base"}},
    {"client/cli",
     {"client/cli", "client/connection", "server/engine", "server/protocol",
      "server/net/any_stream.hpp", "server/base"}},
    {"client/bots", {}},  // an example in C++, which uses nothing of the exchange
    {"server/audit",
     {"server/engine", "server/journal", "server/store", "server/base", "server/audit"}},
    {"client/loadgen/audit",
     {"client/connection", "server/engine", "server/protocol", "server/base",
      "client/loadgen/audit"}},
    {"course/conformance",
     {"client/connection", "client/loadgen/audit", "server/engine",
      "server/protocol/description.hpp", "server/base", "course/conformance"}},
    {"course/experiments",
     {"server/engine", "server/journal", "server/base", "course/experiments"}},
    {"course/tests", {"course/conformance", "client/*", "testing"}},
    {"testing", {"server/*", "client/*", "testing"}},
    {"studies", {"server/*", "testing", "studies"}},
};

// The engine is pure (DESIGN.md, "The engine").
const std::set<std::string> system_headers_of_engine = {"sys/mman.h"};
const std::set<std::string> std_headers_not_for_engine = {
    "chrono",  "thread", "mutex",     "shared_mutex", "condition_variable",
    "future",  "atomic", "semaphore", "stop_token",   "latch",
    "barrier", "random", "fstream",   "iostream",     "filesystem"};
const std::regex not_for_engine(
    R"(\b(double|float|std::chrono::\w+|(system|steady|high_resolution)_clock|)"
    R"(std::(j?thread|\w*mutex)|random_device)\b)");

std::string layer_of(const fs::path& path) {  // relative to the project
  auto part = path.begin();
  const std::string top = *part;
  if (top == "testing" || top == "studies" || ++part == path.end()) return top;
  const bool fills_limits = path.stem() == "options" || path.stem() == "resource_plan";
  const bool in_top = std::next(part) == path.end();
  if (fills_limits && in_top) return "server/options";
  if (path.parent_path() == "client/loadgen/audit") return path.parent_path();
  if (path.parent_path() == "course/conformance/tests") return "course/tests";
  if (path.stem() == "server" && in_top) return "server/main.cpp";
  return top + "/" + part->string();
}

// Returns what permits `from` to include this file; empty if nothing does.
std::string allowance(const std::string& from, const fs::path& file) {
  const std::string layer = layer_of(file);
  for (const std::string& one : {layer, file.string(), layer.substr(0, layer.find('/')) + "/*"})
    if (allowed.at(from).contains(one)) return one;
  return {};
}

// Blanks comments and the contents of literals, keeping every line where it is.
std::string code_only(std::string text) {
  const auto skip_until = [&](std::size_t& at, std::string_view end, std::size_t opening) {
    for (std::size_t i = 0;
         at < text.size() && (i < opening || !std::string_view(text).substr(at).starts_with(end));
         ++at, ++i) {
      if (end.size() == 1 && end != "\n") {  // a literal: ends with its line at the latest
        if (text[at] == '\n') return;
        if (text[at] == '\\' && at + 1 < text.size() && text[at + 1] != '\n') text[at++] = ' ';
      }
      if (text[at] != '\n') text[at] = ' ';
    }
    for (std::size_t i = 0; i < end.size() && at < text.size() && end != "\n"; ++i)
      text[at++] = ' ';
  };
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view rest = std::string_view(text).substr(at);
    // 1'000
    const bool separator =
        at > 0 && std::isalnum(static_cast<unsigned char>(text[at - 1])) && rest[0] == '\'';
    if (rest.starts_with("//"))
      skip_until(at, "\n", 2);
    else if (rest.starts_with("/*"))
      skip_until(at, "*/", 2);
    else if (rest[0] == '"')
      skip_until(at, "\"", 1);
    else if (rest[0] == '\'' && !separator)
      skip_until(at, "'", 1);
    else
      ++at;
  }
  return text;
}

class Inspector {
 public:
  explicit Inspector(fs::path root) : root_(std::move(root)) {
    for (const char* top :
         {"server", "client", "testing", "studies", "course/conformance", "course/experiments"})
      for (const auto& entry : fs::recursive_directory_iterator(root_ / top))
        if (entry.is_regular_file() && is_source(entry.path())) {
          std::stringstream text;
          text << std::ifstream(entry.path()).rdbuf();
          sources_.push_back({fs::relative(entry.path(), root_), text.str()});
        }
    for (const Source& source : sources_) find_types(source);
  }

  Lines violations() {
    for (const Source& source : sources_) inspect(source);
    std::sort(violations_.begin(), violations_.end());
    return violations_;
  }
  // Returns the allowances of layers that no include uses. Requires: violations() was called.
  Lines unused() const {
    Lines unused;
    for (const auto& [layer, targets] : allowed)
      for (const std::string& target : targets)
        if (!used_.contains({layer, target})) unused.push_back(layer + " includes no " + target);
    return unused;
  }
  // Returns the violations of a file with these lines in front of it. The file may be new.
  Lines violations_with(const std::string& file, const std::string& lines) const {
    Inspector planted(*this);
    const auto old = std::find_if(sources_.begin(), sources_.end(),
                                  [&](const Source& source) { return source.file == file; });
    planted.sources_ = {{file, lines + (old == sources_.end() ? "" : old->text)}};
    planted.find_types(planted.sources_.front());
    return planted.violations();
  }
  std::size_t files() const { return sources_.size(); }
  std::size_t project_includes() const { return project_includes_; }

 private:
  static bool is_source(const fs::path& path) {
    static const std::set<std::string> extensions = {".cpp", ".hpp", ".h",   ".in",
                                                     ".c",   ".cc",  ".ipp", ".inl"};
    return extensions.contains(path.extension());
  }

  struct Source {
    fs::path file;  // relative to the project
    std::string text, code = code_only(text);
  };

  // Calls visit(name, position, ending) for each type that `code` declares (ending ';') or defines
  // (ending '{'); the name is the last one: "State" for HttpServer::State.
  template <class Visit>
  static void visit_types(const std::string& code, Visit visit) {
    static const std::regex type(R"((?:class|struct|union|enum)\s+(?:class\s+)?(?:\w+::)*)"
                                 R"((\w+)\s*(?:final\s*)?(?::[^:][^]*)?)");
    for (const std::string keyword : {"class ", "struct ", "union ", "enum "})
      for (auto at = code.find(keyword); at != code.npos; at = code.find(keyword, at + 1)) {
        const auto end = code.find_first_of("{;()", at);
        const std::string_view before = std::string_view(code).substr(0, at);
        const bool is_word =
            (before.empty() ||
             (!std::isalnum(static_cast<unsigned char>(before.back())) && before.back() != '_')) &&
            !before.ends_with("enum ");  // enum class: found by its first word
        if (end == code.npos || !is_word || code[end] == '(' || code[end] == ')') continue;
        const std::string head = code.substr(at, end - at);
        if (std::smatch match; std::regex_match(head, match, type)) visit(match[1], at, code[end]);
      }
  }

  void find_types(const Source& source) {
    visit_types(source.code, [&](const std::string& name, std::size_t, char ending) {
      if (ending == '{') types_[name].insert(source.file);
    });
    const std::string define = "BOOST_DEFINE_FIXED_ENUM_CLASS(";
    for (auto at = source.code.find(define); at != source.code.npos;
         at = source.code.find(define, at + 1)) {
      const auto name = at + define.size();
      types_[source.code.substr(name, source.code.find(',', name) - name)].insert(source.file);
    }
  }

  void inspect(const Source& source) {
    file_ = source.file;
    layer_ = layer_of(file_);
    if (!allowed.contains(layer_))
      return violation(1, "no rule says what layer " + layer_ + " may include");
    visit_types(source.code, [&](const std::string& name, std::size_t at, char ending) {
      const auto begin = source.code.begin();
      const auto line = 1 + std::count(begin, begin + std::ptrdiff_t(at), '\n');
      if (ending == ';') inspect_declaration(int(line), name);
    });
    std::istringstream lines(source.text), code(source.code);
    std::string line, code_line;
    for (int number = 1; std::getline(lines, line); ++number) {
      std::getline(code, code_line);
      inspect_line(number, line, code_line);
    }
  }

  void inspect_line(int number, const std::string& line, const std::string& code) {
    static const std::regex directive(R"(^\s*#\s*include\b)"),
        include(R"(^\s*#\s*include\s*([<"])([^>"]+)[>"].*)");
    if (std::smatch match; std::regex_search(code, directive)) {
      if (!std::regex_match(line, match, include))
        return violation(number, "an include that cannot be read: " + line);
      return inspect_include(number, match[2], match[1] == "\"");
    }
    if (std::smatch match;
        layer_ == "server/engine" && std::regex_search(code, match, not_for_engine))
      violation(number, "the engine is pure and uses '" + match.str() + "'");
  }

  void inspect_include(int number, const std::string& name, bool quoted) {
    if (name.find("..") != std::string::npos)
      return violation(number, "includes " + name + " around the include paths");
    const fs::path target = resolve(name, quoted);
    if (!target.empty()) {
      ++project_includes_;
      const std::string found = allowance(layer_, target);
      if (found.empty())
        violation(number, layer_ + " may not include " + name + " of " + layer_of(target));
      used_.emplace(layer_, found);
      return;
    }
    if (quoted) return violation(number, "includes " + name + ", which is not of this project");
    static const std::regex std_header("[a-z_0-9]+");
    if (layer_ == "server/engine" && !system_headers_of_engine.contains(name) &&
        (!std::regex_match(name, std_header) || std_headers_not_for_engine.contains(name)))
      violation(number, "the engine is pure and includes <" + name + ">");
  }

  // A declared type must be defined where this layer may include it; a type that the project does
  // not define is not judged.
  void inspect_declaration(int number, const std::string& type) {
    const auto found = types_.find(type);
    if (found == types_.end()) return;
    std::set<std::string> owners;
    for (const fs::path& file : found->second) {
      if (const std::string one = allowance(layer_, file); !one.empty()) {
        used_.emplace(layer_, one);
        return;
      }
      owners.insert(layer_of(file));
    }
    violation(number, layer_ + " may not declare " + type + " of " + *owners.rbegin());
  }

  // Returns the file of the project that an include finds, relative to the project; empty if it
  // does not exist.
  fs::path resolve(const std::string& name, bool quoted) const {
    Lines places = {"server", "testing", ""};
    if (quoted) places.insert(places.begin(), file_.parent_path().string());
    for (const std::string& place : places) {
      const fs::path path = fs::path(place) / name;
      if (fs::is_regular_file(root_ / path) || fs::is_regular_file(root_ / (path.string() + ".in")))
        return path.lexically_normal();
    }
    return {};
  }

  void violation(int line, const std::string& what) {
    violations_.push_back(file_.string() + ":" + std::to_string(line) + ": " + what);
  }

  const fs::path root_;
  fs::path file_;
  std::string layer_;
  Lines violations_;
  std::vector<Source> sources_;
  std::map<std::string, std::set<fs::path>> types_;
  std::set<std::pair<std::string, std::string>> used_;  // layers and allowances
  std::size_t project_includes_ = 0;
};

}  // namespace

TEST_CASE("no include and no declaration breaks the rules of the layers") {
  Inspector inspector(PROJECT_ROOT);
  std::string found;
  for (const std::string& violation : inspector.violations()) found += violation + "\n";
  for (const std::string& allowance : inspector.unused()) found += allowance + "\n";
  CHECK(found == "");
  CHECK(inspector.files() > 50);  // it has read files
  CHECK(inspector.project_includes() > 100);
}

TEST_CASE("a planted violation is found, with its file and line") {
  const Inspector inspector(PROJECT_ROOT);
  const struct {
    std::string file, lines;
    int line;
  } planted[] = {
      {"server/engine/decimal.cpp", "\n#include \"core/clock.hpp\"\n", 2},
      {"server/protocol/xml.cpp", "#include <metrics/metrics.hpp>\n", 1},
      {"server/net/listener.cpp", "#include \"options.hpp\"\n", 1},
      {"server/main.cpp", "#include \"testing/catch.hpp\"\n", 1},
      {"client/cli/planted.cpp", "#include \"client/loadgen/options.hpp\"\n", 1},
      {"server/newcomer/new.cpp", "", 1},
      // the pure engine
      {"server/engine/decimal.cpp", "#include <pugixml.hpp>\n", 1},
      {"server/engine/decimal.cpp", "  #  include <mutex>\n", 1},
      {"server/engine/ids.hpp", "// double\nstatic double x;\n", 2},
      // ways around the rules
      {"server/core/core.cpp", "#include \"../net/transport.hpp\"\n", 1},
      {"server/core/core.cpp", "#include \"nowhere.hpp\"\n", 1},
      {"server/core/core.cpp", "#include WHAT\n", 1},
      // declarations
      {"server/core/core.hpp", "namespace exchange {\nstruct Credential;\n}\n", 2},
      {"server/engine/exchange.hpp", "class Store; class Pool;\n", 1},
      {"server/engine/exchange.hpp", "enum class Policy : int;\n", 1},
      {"server/metrics/metrics.hpp", "template <class T> class MarketFeed;\n", 1},
  };
  for (const auto& [file, lines, line] : planted) {
    INFO(file << ": " << lines);
    const Lines found = inspector.violations_with(file, lines);
    REQUIRE(found.size() == 1);
    CHECK(found[0].starts_with(file + ":" + std::to_string(line) + ": "));
  }
}

TEST_CASE("what the rules allow, or only looks like an include, is no violation") {
  const Inspector inspector(PROJECT_ROOT);
  const std::pair<std::string, std::string> allowed_lines[] = {
      {"server/engine/decimal.cpp",
       "#include <vector>\n#include <sys/mman.h>\n#include \"engine/pool.hpp\"\n"},
      {"server/engine/decimal.cpp",
       "/*\n#include \"core/core.hpp\"\n*/ // float\nconst char* s = \"double\";\n"},
      {"server/protocol/xml.cpp", "#include \"engine/ids.hpp\"\nclass Exchange;\nclass Unknown;\n"},
      {"client/cli/planted.cpp",
       "#include \"protocol/xml_session.hpp\"\n#include \"base/histogram.hpp\"\n"},
      {"testing/planted.cpp", "#include \"core/core.hpp\"\n#include \"net/transport.hpp\"\n"},
  };
  for (const auto& [file, lines] : allowed_lines)
    CHECK(inspector.violations_with(file, lines) == Lines{});
}
