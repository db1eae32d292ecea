#pragma once
// The server in this process with its HTTP port, clients for it and for /ws, and a market for them.

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/websocket.hpp>
#include <nlohmann/json.hpp>

#include "auth/scrypt.hpp"
#include "catch.hpp"
#include "json/json_input.hpp"
#include "support/in_process_server.hpp"

namespace exchange::testing {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
namespace websocket = beast::websocket;
using namespace nlohmann::literals;  // R"({})"_json

// The header fields with which tests log in, and the refusal of a login.
using Fields = std::vector<std::pair<std::string, std::string>>;

inline const Fields as_operator{{"Authorization", "Bearer key-of-operator"}};
inline const Fields as_1{{"Authorization", "Basic MTpzZWNyZXQtb2YtMQ=="}},  // 1:secret-of-1
    as_2{{"Authorization", "Basic MjpzZWNyZXQtb2YtMg=="}};                  // 2:secret-of-2
inline const std::string unknown_account =
    R"(404 {"error":"unknown account","code":"unknown_account"})";

// Two accounts, SPY, an execution of 40 at 145.67 and a bid of 60 left.
inline const char* const small_market =
    "<create><account id=\"1\" balance=\"100000\"/><account id=\"2\" balance=\"0\"/>"
    "<symbol sym=\"SPY\"><account id=\"2\">500</account></symbol></create>";
inline const char* const first_bid =
    "<transactions id=\"1\"><order sym=\"SPY\" amount=\"100\" limit=\"145.67\"/></transactions>";
inline const char* const first_ask =
    "<transactions id=\"2\"><order sym=\"SPY\" amount=\"-40\" limit=\"140\"/></transactions>";

struct Exchanged {
  unsigned status = 0;
  std::string body, content_type;
  http::fields fields;
  nlohmann::json json() const { return nlohmann::json::parse(body); }
};

inline http::request<http::empty_body> get_request(const std::string& target) {
  http::request<http::empty_body> request{http::verb::get, target, 11};
  request.set(http::field::host, "exchange");
  return request;
}

class HttpFixture : public InProcessServer {
 public:
  HttpFixture() { options.core.projection_interval_ms = 0; }

  // Starts the server with keys; key-of-operator is the operator's.
  void start_with_keys() {
    options.auth.required = options.protocol.keys = true;
    keys.set_key(operator_id, hash_key("key-of-operator", 4));
    start();
  }
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
                             const Fields& fields = {}) {
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
                    const Fields& fields = {}) {
    asio::ip::tcp::socket socket = send(verb, target, body, fields);
    return read(socket, verb == http::verb::head);
  }
  // Returns the status, then the JSON without its line end.
  std::string answer(http::verb verb, const std::string& target, const std::string& body = "",
                     const Fields& fields = {}) {
    const Exchanged got = request(verb, target, body, fields);
    CHECK((got.content_type == "application/json" && got.body.ends_with("\n")));
    return std::to_string(got.status) + " " + got.body.substr(0, got.body.size() - 1);
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
  // Sends a request to a server whose store does not answer; returns once the core waits for it.
  asio::ip::tcp::socket send_to_held_store(const std::string& target, const std::string& body,
                                           const Fields& fields = {}) {
    store.hold_appends.begin();
    asio::ip::tcp::socket socket = send(http::verb::post, target, body, fields);
    while (server->core().health()->batch_age_ns(monotonic_ns()) == 0) std::this_thread::yield();
    return socket;
  }
  // Waits until the view has everything that was committed.
  void await_view() {
    while (metrics.projected_batch != metrics.batch) std::this_thread::yield();
    while (get("/api/symbols").json()["batch"] != metrics.batch.load()) std::this_thread::yield();
  }

  asio::io_context context;
};

// Starts the server with small_market in its tables.
struct Market : HttpFixture {
  Market() {
    start();
    REQUIRE(post(small_market).status == 200);
    REQUIRE(post(first_bid).status == 200);
    await_view();  // one projection, and so one sequence number, for each
    REQUIRE(post(first_ask).status == 200);
    await_view();
  }
  nlohmann::json without_times(const std::string& target) {
    const Exchanged got = get(target);
    INFO(target << ": " << got.body);
    REQUIRE(got.status == 200);
    CHECK(got.content_type == "application/json");
    std::string body = got.body;
    for (std::size_t at = 0; (at = body.find("_us\":1", at)) != std::string::npos; ++at) {
      const std::size_t digits = at + 5;
      body.replace(digits, body.find_first_not_of("0123456789", digits) - digits, "1");
    }
    return nlohmann::json::parse(body);
  }
};

using Socket = websocket::stream<asio::ip::tcp::socket>;

struct Follow : HttpFixture {
  // Connects and subscribes to `symbol`, if it is given.
  Socket follow(const std::string& symbol = "") {
    Socket socket(connect());
    socket.handshake("exchange", "/ws");
    if (!symbol.empty()) send(socket, subscribe(symbol));
    return socket;
  }
  // Returns the status that refuses one more subscriber.
  unsigned refusal() {
    websocket::response_type response;
    boost::system::error_code error;
    Socket(connect()).handshake(response, "exchange", "/ws", error);
    CHECK(error == websocket::error::upgrade_declined);
    return response.result_int();
  }
  static void send(Socket& socket, const std::string& text) {
    socket.text(true);
    socket.write(asio::buffer(text));
  }
  static nlohmann::json receive(Socket& socket) {
    beast::flat_buffer buffer;
    socket.read(buffer);
    return nlohmann::json::parse(beast::buffers_to_string(buffer.data()));
  }
  static std::string subscribe(const std::string& symbol) {
    return nlohmann::json{{"subscribe", symbol}}.dump();
  }
  // Sends a request to be answered on the same connection.
  static std::string message(const nlohmann::json& id, const std::string& verb,
                             const std::string& members) {
    return "{\"id\":" + id.dump() + ",\"" + verb + "\":" + members + "}";
  }
  // Returns the status and the members of the next response, without the times of executions.
  static std::string response(Socket& socket, const nlohmann::json& id) {
    beast::flat_buffer buffer;
    socket.read(buffer);
    auto json = nlohmann::ordered_json::parse(beast::buffers_to_string(buffer.data()));
    INFO(json.dump());
    CHECK((json["type"] == "response" && json["id"] == id));
    const unsigned status = json["status"];
    for (const char* member : {"type", "id", "status"}) json.erase(member);
    if (json.contains("executions"))
      for (auto& execution : json["executions"]) CHECK(execution.erase("time_us") == 1);
    return std::to_string(status) + " " + json.dump();
  }
  static std::string ask(Socket& socket, const std::string& verb, const std::string& members) {
    send(socket, message(7, verb, members));
    return response(socket, 7);
  }
  // Reads until the connection ends.
  static websocket::close_code closed(Socket& socket) {
    boost::system::error_code error;
    while (!error) {
      beast::flat_buffer buffer;
      socket.read(buffer, error);
    }
    return error == websocket::error::closed ? websocket::close_code(socket.reason().code)
                                             : websocket::close_code::none;
  }
  void trade() {
    post(small_market);
    post(first_bid);
    await_view();
  }
};

}  // namespace exchange::testing
