// Requests that are refused by their header; nothing after a refused one is executed. The cases are
// request_heads.json, which testing/judges/run also sends to the server program.

#include "web/request_head.hpp"

#include <fstream>

#include "support/self_signed.hpp"
#include "support/tcp_client.hpp"
#include "unit/web/http_fixture.hpp"

using namespace exchange;
using namespace exchange::testing;

namespace {

constexpr std::size_t bytes_max = 8'192;

struct Case {
  unsigned status;  // 200: accepted
  std::string name, request;
  bool of_body;  // the header is fine
};

std::vector<Case> cases() {
  std::ifstream file(PROJECT_ROOT "/testing/unit/web/request_heads.json");
  std::vector<Case> all;
  for (const nlohmann::json& one : nlohmann::json::parse(file))
    all.push_back({one["status"], one["name"], one["request"], one.value("body", false)});
  REQUIRE(all.size() > 100);
  return all;
}

// The answers on one connection: their status lines.
std::vector<std::string> statuses(const std::string& answers) {
  std::vector<std::string> found;
  for (std::size_t at = 0; (at = answers.find("HTTP/1.", at)) != std::string::npos; at += 12)
    if (at == 0 || answers[at - 1] == '\n' || answers[at - 1] == '}' || answers[at - 1] == '>')
      found.push_back(answers.substr(at + 9, 3));
  return found;
}

}  // namespace

TEST_CASE("a request's header is accepted or refused by RFC 9112") {
  for (const Case& c : cases()) {
    INFO(c.name);
    const RequestHead head = check_request_head(c.request, bytes_max);
    CHECK(head.status == (c.of_body || c.status == 200 ? 0 : c.status));
    CHECK(head.problem.empty() == (head.status == 0));
    if (head.status == 0) CHECK(head.complete);
  }
}

TEST_CASE("a header that comes byte by byte is complete with its last byte, and never refused") {
  for (const Case& c : cases()) {
    if (c.status != 200) continue;
    INFO(c.name);
    const std::size_t bytes = c.request.find("\r\n\r\n", c.request.find("HTTP")) + 4;
    for (std::size_t length = 0; length <= bytes; ++length) {
      const RequestHead head = check_request_head(c.request.substr(0, length), bytes_max);
      CHECK(head.status == 0);
      CHECK(head.complete == (length == bytes));
    }
  }
}

TEST_CASE("a header has a limit, and what can never be one is refused before its end") {
  const std::string request = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
  CHECK(check_request_head("\r\n" + request, request.size()).status == 0);
  CHECK(check_request_head(request, request.size() - 1).status == 431);
  CHECK(check_request_head(std::string(101, 'a'), 100).status == 431);
  CHECK(check_request_head("46\n<cre", bytes_max).status == 400);
  CHECK(check_request_head("<create>", bytes_max).status == 400);
  CHECK(check_request_head("\x16\x03\x01", bytes_max).status == 400);  // TLS
  CHECK(check_request_head("\r\n\r\n\r", bytes_max).skipped == 4);
}

TEST_CASE("an origin is the server's own if scheme, host and port are the same") {
  struct Origin {
    const char *origin, *host;
    bool plain, secure;  // whether it is the server's own on such a port
  };
  for (const Origin& c : std::vector<Origin>{
           {"http://ex.com", "ex.com", true, false},
           {"http://ex.com", "ex.com:80", true, false},
           {"http://ex.com:80", "ex.com", true, false},
           {"http://ex.com:8080", "EX.com:8080", true, false},
           {"https://ex.com", "ex.com", true, true},  // plain: a proxy ends TLS
           {"https://ex.com", "ex.com:443", true, true},
           {"https://ex.com:443", "ex.com", true, true},
           {"HTTPS://Ex.com:8443", "ex.com:8443", true, true},
           {"http://[::1]:8080", "[::1]:8080", true, false},
           {"http://ex.com", "ex.com:443", false, false},
           {"https://ex.com", "ex.com:80", false, false},
           {"https://ex.com:80", "ex.com", false, false},
           {"http://ex.com", "ex.com:8080", false, false},
           {"http://ex.com:8080", "ex.com", false, false},
           {"http://ex.com.evil", "ex.com", false, false},
           {"http://ex.com", "ex.com.evil", false, false},
           {"http://user@ex.com", "ex.com", false, false},
           {"http://ex.com/", "ex.com", false, false},
           {"ftp://ex.com", "ex.com", false, false},
           {"http://", "", false, false},
           {"null", "null", false, false},
           {"", "ex.com", false, false},
       }) {
    INFO(c.origin << " at " << c.host);
    CHECK(is_own_origin(c.origin, c.host, false) == c.plain);
    CHECK(is_own_origin(c.origin, c.host, true) == c.secure);
  }
}

TEST_CASE_METHOD(HttpFixture,
                 "nothing behind a refused request is executed, and what is accepted has one end") {
  const SelfSigned signed_files;
  const bool secure = GENERATE(false, true);
  if (secure) options.tls = signed_files.files();
  options.tls.handshakes_per_address = 0;
  start();
  unsigned accounts = 0;
  for (const Case& c : cases()) {
    INFO(c.name << (secure ? " (TLS)" : ""));
    const std::string next =
        "<create><account id=\"" + std::to_string(++accounts) + "\" balance=\"1\"/></create>";
    const std::uint64_t executed = metrics.commands[0][0];
    TcpClient client(http_port(), {.secure = secure});
    client.send(c.request +
                "POST /api/xml HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: " +
                std::to_string(next.size()) + "\r\n\r\n" + next);
    const std::string answers = client.rest();
    CHECK(answers.find("[open]") == std::string::npos);
    CHECK_THAT(answers, contains_text("\r\nDate: "));
    CHECK((answers.find("\r\nStrict-Transport-Security: ") != std::string::npos) == secure);
    if (c.status == 200)
      CHECK(statuses(answers) == std::vector<std::string>{"200", "200"});
    else
      CHECK(statuses(answers) == std::vector<std::string>{std::to_string(c.status)});
    CHECK(metrics.commands[0][0] - executed == (c.status == 200 ? 1 : 0));
  }
}

TEST_CASE_METHOD(HttpFixture,
                 "a target in absolute form names the host, for the Origin check too") {
  start();
  const auto status = [&](const std::string& target, const std::string& origin) {
    return request(http::verb::get, target, "", {{"Host", "evil.example"}, {"Origin", origin}})
        .status;
  };
  CHECK(status("http://ex.com/api/symbols", "http://ex.com") == 200);
  CHECK(status("http://ex.com/api/symbols", "http://evil.example") == 403);
  CHECK(request(http::verb::get, "http://ex.com/api/books/SPY?levels=0").status == 404);
  const Exchanged refused =
      request(http::verb::get, "/api/symbols", "", {{"Origin", "http://evil.example:8080"}});
  CHECK(refused.status == 403);
  CHECK(refused.json()["error"] ==
        "requests from pages of other sites are refused: the page is of http://evil.example:8080, "
        "the request is for exchange");
}
