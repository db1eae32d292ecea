// Reads every script of this folder (README.md describes the format) and runs it: in this process
// through sessions alone, and over TCP under every thread policy; at once, byte by byte and,
// without sockets, in random slices. Also tests documents that are too large for a script.

#include <algorithm>
#include <boost/algorithm/string/replace.hpp>
#include <boost/algorithm/string/trim.hpp>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <random>
#include <stdexcept>
#include <utility>

#include "support/in_process_server.hpp"
#include "support/local.hpp"
#include "support/policies.hpp"
#include "support/self_signed.hpp"
#include "support/tcp_client.hpp"

using namespace exchange;
using namespace exchange::testing;

namespace {

struct Step {
  enum class Kind { send, expect, end_stream, expect_close };
  Kind kind;
  std::string client;
  std::string bytes;  // send: what goes over the wire; expect: one whole reply
  int line = 0;
};

// A conversation with a new exchange.
struct Script {
  std::string name;  // of its file
  ProtocolLimits limits;
  std::vector<Step> steps;
};

// Reads the conversations of a file. Throws std::runtime_error, naming file and line, if the file
// is not a script.
class ScriptReader {
 public:
  explicit ScriptReader(const std::filesystem::path& path) : path_(path) {}

  std::vector<Script> read() {
    std::ifstream in(path_);
    if (!in) fail("cannot be opened");
    for (std::string line; std::getline(in, line);) {
      ++line_;
      const std::string text = boost::trim_copy(line);
      if (text.empty() || line[0] == '#') continue;
      if (line[0] == ' ') {
        if (!step_) fail("continues nothing");
        text_ += text;
        continue;
      }
      finish_step();
      if (text == "new exchange")
        finish_conversation();
      else
        start(text);
    }
    finish_step();
    finish_conversation();
    return std::move(scripts_);
  }

 private:
  [[noreturn]] void fail(const std::string& why) const {
    throw std::runtime_error(path_.string() + ":" + std::to_string(line_) + ": " + why);
  }
  static bool take_word(std::string& text, const std::string& word) {
    if (text != word && !text.starts_with(word + " ")) return false;
    text = boost::trim_copy(text.substr(word.size()));
    return true;
  }

  void start(std::string text) {
    if (take_word(text, "server")) return set_option(text);
    const std::string client = text.substr(0, text.find(' '));
    take_word(text, client);
    raw_ = false;
    if (take_word(text, "sends")) {
      raw_ = take_word(text, "raw");
      begin(Step::Kind::send, client, text);
    } else if (take_word(text, "gets")) {
      begin(Step::Kind::expect, client, text);
    } else if (text == "ends") {
      begin(Step::Kind::end_stream, client, "");
    } else if (text == "is closed") {
      begin(Step::Kind::expect_close, client, "");
    } else {
      fail("no such step: " + client + " " + text);
    }
  }
  void begin(Step::Kind kind, const std::string& client, const std::string& text) {
    step_ = true;
    text_ = text;
    script_.steps.push_back({kind, client, "", line_});
  }
  void set_option(const std::string& option) {
    static const std::map<std::string, bool ProtocolLimits::*> options{
        {"closes after the reply", &ProtocolLimits::close_after_reply},
        {"reads leniently", &ProtocolLimits::lenient_framing},
        {"refuses unknown symbols", &ProtocolLimits::refuse_unknown_symbols},
        {"opens queries", &ProtocolLimits::open_queries},
        {"writes lengths", &ProtocolLimits::length_before_reply}};
    if (!script_.steps.empty()) fail("options come before the first step");
    const auto found = options.find(option);
    if (found == options.end()) fail("no such option: " + option);
    script_.limits.*found->second = true;
  }

  void finish_step() {
    if (!step_) return;
    step_ = false;
    Step& step = script_.steps.back();
    const std::string bytes = unescaped(text_);
    if (step.kind == Step::Kind::send)
      step.bytes = raw_ ? bytes : framed(bytes);
    else if (step.kind == Step::Kind::expect)
      step.bytes = script_.limits.length_before_reply ? framed(bytes + "\n") : bytes + "\n";
    else if (!bytes.empty())
      fail("that step has no text");
  }

  void finish_conversation() {
    if (script_.steps.empty()) fail("says nothing");
    script_.name = path_.stem().string();
    scripts_.push_back(std::exchange(script_, {}));
  }

  std::string unescaped(std::string text) const {
    boost::replace_all(text, "{time}", std::to_string(FixedClock::seconds));
    std::string bytes;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] != '\\') {
        bytes += text[i];
        continue;
      }
      const char escape = i + 1 < text.size() ? text[++i] : ' ';
      if (escape == 'x' && i + 2 < text.size()) {
        bytes += char(std::stoi(text.substr(i + 1, 2), nullptr, 16));
        i += 2;
        continue;
      }
      const std::size_t at = std::string_view("nrts\\").find(escape);
      if (at == std::string_view::npos) fail("no such escape");
      bytes += "\n\r\t \\"[at];
    }
    return bytes;
  }

  const std::filesystem::path path_;
  std::vector<Script> scripts_;
  Script script_;  // the conversation that is read
  int line_ = 0;
  bool step_ = false, raw_ = false;
  std::string text_;
};

std::vector<Script> scripts() {
  std::vector<Script> scripts;
  for (const auto& entry : std::filesystem::directory_iterator(WIRE_SCRIPTS))
    if (entry.path().extension() == ".txt")
      std::ranges::move(ScriptReader(entry.path()).read(), std::back_inserter(scripts));
  return scripts;
}

using Slicer = std::function<std::size_t()>;  // how many bytes go next

// Returns the place of a step, for the message of a failure.
std::string at(const Script& script, const Step& step) {
  return script.name + ".txt:" + std::to_string(step.line) + ", " + step.client + ": ";
}

// Puts each element on its own line, for the message of a failure.
std::string readable(std::string text) {
  for (std::size_t at = 0; (at = text.find("><", at)) != std::string::npos; ++at)
    text.insert(at + 1, "\n");
  return text;
}
void require_same(const std::string& got, const std::string& expected) {
  REQUIRE(readable(got) == readable(expected));
  REQUIRE(got == expected);
}

class LocalRun {
 public:
  LocalRun(const Script& script, Slicer slicer) : script_(script), slicer_(std::move(slicer)) {}

  void run() {
    for (const Step& step : script_.steps) {
      INFO(at(script_, step));
      Talk& talk = talks_.try_emplace(step.client, service_, script_.limits).first->second;
      switch (step.kind) {
        case Step::Kind::send: send(talk, step.bytes); break;
        case Step::Kind::end_stream: talk.client.end(); break;
        case Step::Kind::expect: {
          const std::string replies = talk.take();
          talk.pending = replies.substr(std::min(replies.size(), step.bytes.size()));
          require_same(replies.substr(0, step.bytes.size()), step.bytes);
          break;
        }
        case Step::Kind::expect_close: REQUIRE(talk.take() == ""); REQUIRE(talk.client.closed());
      }
    }
    for (auto& [name, talk] : talks_) {
      INFO(script_.name << ": " << name << " gets nothing more");
      if (!talk.client.closed()) talk.client.end();
      REQUIRE(talk.take() == "");
    }
    REQUIRE(service_.exchange().check_invariants() == "");
  }

 private:
  struct Talk {
    Talk(LocalService& service, const ProtocolLimits& limits) : client(service, limits) {}
    std::string take() { return std::exchange(pending, {}) + client.replies(); }
    LocalClient client;
    std::string pending;
  };
  void send(Talk& talk, std::string_view bytes) {
    while (!bytes.empty()) {
      const std::string_view piece = bytes.substr(0, slicer_());
      talk.client.send(piece);
      bytes.remove_prefix(piece.size());
    }
  }

  const Script& script_;
  const Slicer slicer_;
  LocalService service_;
  std::map<std::string, Talk> talks_;
};

// All bytes that one client sends without waiting for a reply go out together.
void run_over_tcp(const Script& script, Policy policy, bool bytewise,
                  const SelfSigned* certificate = nullptr) {
  InProcessServer server(policy, [&](Options& options) {
    options.protocol = script.limits;
    if (certificate != nullptr) options.tls = certificate->files();
  });
  std::map<std::string, TcpClient> clients;
  for (std::size_t i = 0; i < script.steps.size(); ++i) {
    const Step& step = script.steps[i];
    INFO(at(script, step) << " under " << to_string(policy) << (bytewise ? ", byte by byte" : ""));
    TcpClient& client = clients
                            .try_emplace(step.client, server.port(),
                                         TcpClient::Settings{.secure = certificate != nullptr})
                            .first->second;
    switch (step.kind) {
      case Step::Kind::send: {
        std::string bytes = step.bytes;
        while (i + 1 < script.steps.size() && script.steps[i + 1].kind == Step::Kind::send &&
               script.steps[i + 1].client == step.client)
          bytes += script.steps[++i].bytes;
        if (bytewise)
          client.send_bytewise(bytes);  // after bad framing the server may take less
        else
          REQUIRE(client.send(bytes));
        break;
      }
      case Step::Kind::end_stream: client.end(); break;
      case Step::Kind::expect: require_same(client.reply(), step.bytes); break;
      case Step::Kind::expect_close: REQUIRE(client.rest() == ""); break;
    }
  }
  for (auto& [name, client] : clients) {
    INFO(script.name << " under " << to_string(policy) << ": " << name << " gets nothing more");
    client.end();
    REQUIRE(client.rest() == "");
  }
}

}  // namespace

TEST_CASE("the scripts, without sockets") {
  REQUIRE(scripts().size() >= 15);
  std::mt19937_64 random(test_seed());
  for (const Script& script : scripts()) {
    LocalRun(script, [] { return std::size_t(-1); }).run();
    LocalRun(script, [] { return std::size_t(1); }).run();
    for (int i = 0; i < 5; ++i)
      LocalRun(script, [&] { return std::size_t(1 + random() % 100); }).run();
  }
}

TEST_CASE("the scripts over TCP, under every policy") {
  const Policy policy = any_policy();
  for (const Script& script : scripts())
    for (const bool bytewise : {false, true}) run_over_tcp(script, policy, bytewise);
}

TEST_CASE("the scripts over TLS, under every policy") {
  const SelfSigned certificate;
  const Policy policy = any_policy();
  for (const Script& script : scripts()) run_over_tcp(script, policy, false, &certificate);
}

TEST_CASE("a document that is deep, long or all of one byte is malformed under every policy") {
  const InProcessServer server(
      any_policy(), [](Options& options) { options.protocol.frame_bytes_max = 1u << 24; });
  const std::string many(100'000, '1');
  const std::pair<std::string, std::string> documents[] = {
      {repeated("<a>", 1'000'000) + repeated("</a>", 1'000'000), "elements nested too deep"},
      {repeated("<a>", 5'000'000), "Start-end tags mismatch"},
      {"<!DOCTYPE " + repeated("[", 5'000), "Error parsing document type declaration"},
      {"<create><account id=\"" + many + "\"/></create>", "attribute value too long"},
      {std::string(1u << 20, '\0'), "not UTF-8, or a character that XML does not allow"},
  };
  TcpClient client(server.port());
  for (const auto& [document, problem] : documents) {
    CHECK(client.request(document) == error_reply("malformed XML: " + problem));
    CHECK(client.request("<create/>") == results(""));
  }
}
