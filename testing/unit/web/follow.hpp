#pragma once
// Clients of /ws, and a market for them.

#include "unit/web/http_fixture.hpp"

namespace exchange::testing {

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
  static Json receive(Socket& socket) {
    beast::flat_buffer buffer;
    socket.read(buffer);
    return Json::parse(beast::buffers_to_string(buffer.data()));
  }
  static std::string subscribe(const std::string& symbol) {
    return Json{{"subscribe", symbol}}.dump();
  }
  // Sends a request to be answered on the same connection.
  static std::string message(const Json& id, const std::string& verb, const std::string& members) {
    return "{\"id\":" + id.dump() + ",\"" + verb + "\":" + members + "}";
  }
  // Returns the status and the members of the next response, without the times of executions.
  static std::string response(Socket& socket, const Json& id) {
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
