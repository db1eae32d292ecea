// TLS beyond the scripts: clients that do not speak it, do not finish the handshake, end without
// close_notify, or take long replies.

#include "support/self_signed.hpp"
#include "support/tcp_client.hpp"
#include "support/wait_for.hpp"
#include "wire/any_server.hpp"

using namespace exchange;
using namespace exchange::testing;

namespace {

const std::string create = framed(R"(<create><account id="1" balance="5"/></create>)");
const std::string created = results(R"(<created id="1"/>)");

// A server with its own certificate, once under each policy.
struct SecureServer {
  explicit SecureServer(const AnyServer::Adjust& adjust = [](Options&) {})
      : server([&](Options& options) {
          options.tls = certificate.files();
          adjust(options);
        }) {}
  const SelfSigned certificate;
  AnyServer server;
  TcpClient::Settings secure{.secure = true};
};

}  // namespace

TEST_CASE_METHOD(
    SecureServer,
    "plain text to a TLS port is closed without a reply, and the next client is served") {
  TcpClient plain(server.port());
  REQUIRE(plain.send(create));
  const std::string reply = plain.rest();
  CHECK(reply.find("<") == std::string::npos);
  CHECK(reply.find("[open]") == std::string::npos);
  CHECK(wait_for([&] { return server.metrics.tls_failures == 1; }));
  TcpClient next(server.port(), secure);
  REQUIRE(next.send(create));
  CHECK(next.reply() == created);
  CHECK(server.metrics.requests == 1);
}

TEST_CASE("a handshake that is not finished is a slow client, and is cut off") {
  SecureServer secured([](Options& options) { options.net.limits.stall_ms = 100; });
  AnyServer& server = secured.server;
  TcpClient silent(server.port()), amid(server.port());
  REQUIRE(amid.send("\x16\x03\x01\x02"));  // the beginning of a TLS record
  CHECK(silent.rest() == "");
  CHECK(amid.rest().find("[open]") == std::string::npos);
  CHECK(wait_for([&] { return server.metrics.connections == 0; }));
  CHECK(server.metrics.tls_failures == 2);
}

TEST_CASE_METHOD(
    SecureServer,
    "under TLS, a request is answered whether the client sends close_notify or only shuts down") {
  {
    TcpClient says(server.port(), secure);
    REQUIRE(says.send(create));
    says.end();
    CHECK(says.rest() == created);
    CHECK(says.has_tls_end());
  }
  TcpClient truncates(server.port(), secure);
  REQUIRE(truncates.send(create));
  truncates.end_of_tcp();
  CHECK(truncates.rest() == results(R"(<error id="1">account already exists</error>)"));
  // a request that is cut off is not executed
  TcpClient amid(server.port(), secure);
  REQUIRE(amid.send("100\n<create><account id='2' balance='1'/></create>"));
  amid.end_of_tcp();
  CHECK(amid.rest() == error_reply("bad framing: 100 bytes announced, 46 came, and the document is "
                                   "complete: is the length right?"));
}

TEST_CASE_METHOD(
    SecureServer,
    "under TLS, a client that is closed for bad framing gets the reason and close_notify") {
  TcpClient client(server.port(), secure);
  REQUIRE(client.send("what\n"));
  CHECK(client.rest().starts_with("<results><error>bad framing"));
  CHECK(client.has_tls_end());
}

TEST_CASE_METHOD(SecureServer, "under TLS, a reply larger than any buffer arrives whole") {
  std::string creations, expected;
  for (int i = 0; i < 9'000; ++i) {
    const std::string id = std::string(59, '7') + std::to_string(100'000 + i).substr(1);
    creations += "<account id='" + id + "' balance='1'/>";
    expected += "<created id=\"" + id + "\"/>";
  }
  TcpClient reader(server.port(), {.receive_buffer = 4'096, .secure = true});
  REQUIRE(reader.send(framed("<create>" + creations + "</create>")));
  CHECK(reader.reply() == results(expected));
}

TEST_CASE_METHOD(SecureServer,
                 "a stopping server waits for no handshake, and sends the others close_notify") {
  TcpClient silent(server.port()), idle(server.port(), secure), busy(server.port(), secure);
  REQUIRE(wait_for([&] { return server.metrics.connections == 3; }));
  REQUIRE(busy.send(create));
  CHECK(busy.reply() == created);
  CHECK(server.stop() < 4'000);
  CHECK(silent.rest() == "");
  CHECK(idle.rest() == "");
  CHECK(idle.has_tls_end());
}

TEST_CASE(
    "a new certificate is shown to new connections; one that cannot be read changes nothing") {
  SelfSigned files;
  InProcessServer server(Policy::loop, [&](Options& options) { options.tls = files.files(); });
  TcpClient before(server.port(), {.secure = true});
  CHECK(before.serial() == 1);
  files.renew();
  server.server->certificate()->reload();
  CHECK(TcpClient(server.port(), {.secure = true}).serial() == 2);
  REQUIRE(before.send(create));
  CHECK(before.reply() == created);
  const TlsFiles crossed{files.files().key, files.files().certificate};
  CHECK_THROWS_WITH(Certificate(crossed, server.metrics), contains_text("--tls-cert"));
}

TEST_CASE_METHOD(SecureServer, "key exchanges use X25519, P-256 or P-384, and no expensive group") {
  for (const char* groups : {"X25519", "P-256", "P-384", "ffdhe8192:P-521:X25519"}) {
    INFO(groups);
    TcpClient client(server.port(), {.secure = true, .groups = groups});
    CHECK(client.request("<create/>") == results(""));
  }
  for (const char* groups : {"P-521", "X448", "ffdhe2048", "ffdhe8192"}) {
    INFO(groups);
    CHECK_THROWS_WITH(TcpClient(server.port(), {.secure = true, .groups = groups}),
                      "no TLS handshake");
  }
}

TEST_CASE("an address that begins too many TLS connections is closed; others are served") {
  SecureServer secured([](Options& options) {
    options.tls.handshakes_per_address = 1;  // four at once
  });
  AnyServer& server = secured.server;
  int served = 0;
  for (int i = 0; i < 100 && server.metrics.tls_refused == 0; ++i) try {
      TcpClient client(server.port(), {.secure = true});
      CHECK(client.request("<create/>") == results(""));
      ++served;
    } catch (const std::runtime_error& error) {
      CHECK(std::string(error.what()) == "no TLS handshake");
    }
  CHECK(served >= 4);
  CHECK(server.metrics.tls_refused == 1);
  CHECK(server.metrics.tls_failures == 0);
  CHECK(TcpClient(server.port(), {.from = "127.0.0.2", .secure = true}).request("<create/>") ==
        results(""));
}

TEST_CASE("a key exchange with P-384 counts as eight TLS connections of its address") {
  SecureServer secured([](Options& options) {
    options.tls.handshakes_per_address = 1;  // four at once
  });
  AnyServer& server = secured.server;
  const TcpClient::Settings expensive{.secure = true, .groups = "P-384"};
  CHECK(TcpClient(server.port(), expensive).request("<create/>") == results(""));
  int served = 0;
  while (server.metrics.tls_refused == 0 && served < 100) try {
      TcpClient(server.port(), {.secure = true});
      ++served;
    } catch (const std::runtime_error&) {
    }
  CHECK(served < 3);
}
