// Quotes a bid and an ask around the last price: bot ACCOUNT SYMBOL HOST:PORT
#include <boost/asio.hpp>
#include <boost/beast.hpp>
#include <boost/multiprecision/cpp_dec_float.hpp>
#include <chrono>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>

using boost::asio::ip::tcp;
using Decimal = boost::multiprecision::cpp_dec_float_50;
using Json = nlohmann::json;

Decimal number(const Json& text) { return Decimal(text.get<std::string>()); }

int main(int, char** argv) try {
  const std::string account = argv[1], symbol = argv[2], server = argv[3];
  const Json login{{"account", account}, {"key", ""}};  // key: if the server has --auth
  const int size = 10, position_max = 50;
  const Decimal distance("0.10");
  Decimal price, quoted;   // last price, and the one that the orders surround; 0: none
  Decimal position, cash;  // bought and earned since the start
  std::map<std::string, std::string> refs, limits;  // of each side's order, until it ends
  auto next_ref = std::chrono::system_clock::now().time_since_epoch().count();

  boost::asio::io_context context;
  boost::beast::websocket::stream<tcp::socket> socket(context);
  const std::string host = server.substr(0, server.find(':')),
                    port = server.substr(host.size() + 1);
  boost::asio::connect(socket.next_layer(), tcp::resolver(context).resolve(host, port));
  socket.next_layer().set_option(tcp::no_delay(true));
  socket.handshake(server, "/ws");
  const auto send = [&](const Json& json) { socket.write(boost::asio::buffer(json.dump())); };

  send({{"id", "login"}, {"login", login}});
  send({{"id", "try"}, {"cancel_all", {{"symbol", symbol}}}});  // orders of an earlier run
  send({{"subscribe", login}});
  for (boost::beast::flat_buffer buffer;; buffer.clear()) {
    socket.read(buffer);
    const Json message = Json::parse(boost::beast::buffers_to_string(buffer.data()));
    if (message.contains("error") && message.value("id", "") != "try")  // nothing was open
      throw std::runtime_error(message["error"]);
    const std::string type = message["type"];
    if (type == "account") send({{"subscribe", symbol}});  // from here on, every event arrives
    for (const Json& event : message.value("events", Json::array())) {
      const std::string side = event.value("side", "");
      if (!refs.contains(side) || event.value("ref", "") != refs[side]) continue;
      if (event["event"] == "executed") {
        const Decimal at = number(event["price"]), shares = number(event["shares"]);
        const int sign = side == "buy" ? 1 : -1;
        position += sign * shares;
        cash -= sign * shares * at;
        const Decimal profit = cash + position * at;
        std::cout << side << ' ' << shares << " at " << at << ": position " << position
                  << ", profit " << profit.str(2, std::ios::fixed) << std::endl;
      }
      if (event["open"] == "0") refs.erase(side);
    }
    if (const Json trades = message.value("trades", Json()); trades.is_array()) {
      if (price == 0) price = 100;
      if (!trades.empty())  // a snapshot has the newest first, an update last
        price = number((type == "snapshot" ? trades.front() : trades.back())["price"]);
    }
    if (price == 0) continue;
    // If the price falls, the bid moves first, so that it never meets the ask.
    for (const int sign : {price < quoted ? 1 : -1, price < quoted ? -1 : 1}) {
      const std::string side = sign == 1 ? "buy" : "sell";
      const std::string limit = Decimal(price - sign * distance).str(8, std::ios::fixed);
      Json terms{{"side", side}, {"shares", size}, {"limit", limit}};
      if (!refs.contains(side) && sign * position + size <= position_max) {
        refs[side] = side + "-" + std::to_string(next_ref++);
        terms.update({{"symbol", symbol}, {"ref", refs[side]}, {"cancel_on_disconnect", true}});
        send({{"id", refs[side]}, {"place", terms}});
      } else if (refs.contains(side) && limits[side] != limit) {
        terms["order"] = "ref:" + refs[side];
        send({{"id", "try"}, {"replace", terms}});
      }
      limits[side] = limit;
    }
    quoted = price;
  }
} catch (const std::exception& error) {
  std::cerr << error.what() << '\n';
  return 1;
}
