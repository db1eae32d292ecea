// Quotes a bid and an ask around the last price: bot ACCOUNT SYMBOL HOST:PORT
#include <boost/asio.hpp>
#include <boost/beast.hpp>
#include <boost/multiprecision/cpp_dec_float.hpp>
#include <chrono>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

using boost::asio::ip::tcp;
using Decimal = boost::multiprecision::cpp_dec_float_50;
using Json = nlohmann::json;

Decimal number(const Json& text) { return Decimal(text.get<std::string>()); }

int main(int, char** argv) try {
  const std::string account = argv[1], symbol = argv[2], server = argv[3];
  const Json login{{"account", account}, {"key", ""}};  // of the account, if the server has --auth
  const int size = 10, position_max = 50;
  const Decimal distance("0.10");
  Decimal price, quoted;   // the last price, and the one that the open orders are around; 0: none
  Decimal position, cash;  // bought and earned since the start
  std::set<std::string> open_refs;  // of the orders that are not known to have ended
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
  send({{"id", "cancel"}, {"cancel_all", {{"symbol", symbol}}}});  // of an earlier run
  send({{"subscribe", login}});
  for (boost::beast::flat_buffer buffer;; buffer.clear()) {
    socket.read(buffer);
    const Json message = Json::parse(boost::beast::buffers_to_string(buffer.data()));
    if (message.contains("error") && message.value("id", "") != "cancel")  // nothing to cancel
      throw std::runtime_error(message["error"]);
    const std::string type = message["type"];
    if (type == "account") send({{"subscribe", symbol}});  // from here on, every event comes
    for (const Json& event : message.value("events", Json::array())) {
      const std::string ref = event.value("ref", "");
      if (event["event"] == "executed" && open_refs.contains(ref)) {
        const Decimal at = number(event["price"]), shares = number(event["shares"]);
        const int sign = event["side"] == "buy" ? 1 : -1;
        position += sign * shares;
        cash -= sign * shares * at;
        const Decimal profit = cash + position * at;
        std::cout << event.value("side", "") << ' ' << shares << " at " << at << ": position "
                  << position << ", profit " << profit.str(2, std::ios::fixed) << std::endl;
        quoted = 0;
      }
      if (event.value("open", "") == "0") open_refs.erase(ref);
    }
    if (const Json trades = message.value("trades", Json()); trades.is_array()) {
      if (price == 0) price = 100;
      if (!trades.empty())  // a snapshot has the newest first, an update last
        price = number((type == "snapshot" ? trades.front() : trades.back())["price"]);
    }
    if (!open_refs.empty() && quoted != price) {
      send({{"id", "cancel"}, {"cancel_all", {{"symbol", symbol}}}});
    } else if (open_refs.empty() && price != 0) {
      for (const auto& [side, sign] : std::map<std::string, int>{{"buy", 1}, {"sell", -1}}) {
        if (sign * position + size > position_max) continue;
        const std::string ref = side + "-" + std::to_string(next_ref++);
        Json order{{"symbol", symbol}, {"side", side}, {"shares", size}, {"ref", ref}};
        order["limit"] = Decimal(price - sign * distance).str(8, std::ios::fixed);
        order["cancel_on_disconnect"] = true;
        send({{"id", ref}, {"place", order}});
        open_refs.insert(ref);
      }
    }
    quoted = price;
  }
} catch (const std::exception& error) {
  std::cerr << error.what() << '\n';
  return 1;
}
