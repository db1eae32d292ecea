// Runs every script of this folder: in this process through sessions alone, and over TCP under
// every thread policy; at once, byte by byte and, without sockets, in random slices. Also tests
// documents that are too large for a script.

#include <functional>
#include <map>
#include <random>
#include <utility>

#include "support/in_process_server.hpp"
#include "support/local.hpp"
#include "support/policies.hpp"
#include "support/self_signed.hpp"
#include "support/tcp_client.hpp"
#include "wire/script.hpp"

using namespace exchange;
using namespace exchange::testing;

namespace {

using Slicer = std::function<std::size_t()>;  // how many bytes go next

std::vector<Script> scripts() {
  std::vector<Script> scripts;
  for (const std::string& path : script_paths(WIRE_SCRIPTS))
    scripts.push_back(read_script(path, FixedClock::seconds));
  return scripts;
}

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
