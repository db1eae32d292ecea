#pragma once
// The server in this process with its HTTP port, and clients for it.

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/websocket.hpp>
#include <nlohmann/json.hpp>

#include "catch.hpp"
#include "support/in_process_server.hpp"

namespace exchange::testing {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
namespace websocket = beast::websocket;
using Json = nlohmann::json;
using namespace nlohmann::literals;  // R"({})"_json

struct Exchanged {
  unsigned status = 0;
  std::string body, content_type;
  http::fields fields;
  Json json() const { return Json::parse(body); }
};

inline http::request<http::empty_body> get_request(const std::string& target) {
  http::request<http::empty_body> request{http::verb::get, target, 11};
  request.set(http::field::host, "exchange");
  return request;
}

class HttpFixture : public InProcessServer {
 public:
  HttpFixture() { options.core.projection_interval_ms = 0; }

  asio::ip::tcp::socket connect(const char* from = "127.0.0.1") {
    asio::ip::tcp::socket socket(context, {asio::ip::make_address(from), 0});
    socket.connect({asio::ip::make_address("127.0.0.1"), http_port()});
    return socket;
  }
  asio::ip::tcp::socket send_text(const std::string& text) {
    asio::ip::tcp::socket socket = connect();
    asio::write(socket, asio::buffer(text));
    return socket;
  }
  // Sends a request; read() waits for the response.
  asio::ip::tcp::socket send(http::verb verb, const std::string& target, const std::string& body,
                             const std::vector<std::pair<std::string, std::string>>& fields = {}) {
    http::request<http::string_body> request{verb, target, 11};
    request.set(http::field::host, "exchange");
    for (const auto& [name, value] : fields) request.set(name, value);
    request.body() = body;
    request.prepare_payload();
    asio::ip::tcp::socket socket = connect();
    http::write(socket, request);
    return socket;
  }
  Exchanged request(http::verb verb, const std::string& target, const std::string& body = "",
                    const std::vector<std::pair<std::string, std::string>>& fields = {}) {
    asio::ip::tcp::socket socket = send(verb, target, body, fields);
    return read(socket, verb == http::verb::head);
  }
  Exchanged get(const std::string& target) { return request(http::verb::get, target); }
  Exchanged post(const std::string& xml) { return request(http::verb::post, "/api/xml", xml); }
  Exchanged transact(int account, const std::string& children) {
    return post("<transactions id='" + std::to_string(account) + "'>" + children +
                "</transactions>");
  }
  static Exchanged read(asio::ip::tcp::socket& socket, bool head = false) {
    beast::flat_buffer buffer;
    http::response_parser<http::string_body> parser;
    parser.skip(head);
    parser.body_limit(1u << 26);
    http::read(socket, buffer, parser);
    const auto& response = parser.get();
    return {response.result_int(), response.body(),
            std::string(response[http::field::content_type]), response.base()};
  }
  // Waits until the view has everything that was committed.
  void await_view() {
    while (metrics.projected_batch != metrics.batch) std::this_thread::yield();
    while (get("/api/symbols").json()["batch"] != metrics.batch.load()) std::this_thread::yield();
  }

  asio::io_context context;
};

// Two accounts, SPY, an execution of 40 at 145.67 and a bid of 60 left.
inline const char* const small_market =
    "<create><account id=\"1\" balance=\"100000\"/><account id=\"2\" balance=\"0\"/>"
    "<symbol sym=\"SPY\"><account id=\"2\">500</account></symbol></create>";
inline const char* const first_bid =
    "<transactions id=\"1\"><order sym=\"SPY\" amount=\"100\" limit=\"145.67\"/></transactions>";
inline const char* const first_ask =
    "<transactions id=\"2\"><order sym=\"SPY\" amount=\"-40\" limit=\"140\"/></transactions>";

// Starts the server with this market in its tables.
struct Market : HttpFixture {
  Market() {
    start();
    REQUIRE(post(small_market).status == 200);
    REQUIRE(post(first_bid).status == 200);
    await_view();  // one projection, and so one sequence number, for each
    REQUIRE(post(first_ask).status == 200);
    await_view();
  }
  Json without_times(const std::string& target) {
    const Exchanged got = get(target);
    INFO(target << ": " << got.body);
    REQUIRE(got.status == 200);
    CHECK(got.content_type == "application/json");
    std::string body = got.body;
    for (std::size_t at = 0; (at = body.find("_us\":1", at)) != std::string::npos; ++at) {
      const std::size_t digits = at + 5;
      body.replace(digits, body.find_first_not_of("0123456789", digits) - digits, "1");
    }
    return Json::parse(body);
  }
};

}  // namespace exchange::testing
