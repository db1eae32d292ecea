#pragma once
// Clients of /ws, and a market for them.

#include "unit/http/http_fixture.hpp"

namespace exchange::testing {

using Socket = websocket::stream<asio::ip::tcp::socket>;

struct Follow : HttpFixture {
  // Subscribed to `symbol`, if there is one.
  Socket follow(const std::string& symbol = "") {
    Socket socket(connect());
    socket.handshake("exchange", "/ws");
    if (!symbol.empty()) send(socket, subscribe(symbol));
    return socket;
  }
  // The status that refuses one more subscriber.
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
