#include "support/follower.hpp"

#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/websocket.hpp>
#include <nlohmann/json.hpp>

#include "support/tcp_client.hpp"

namespace exchange::testing {

namespace asio = boost::asio;
namespace beast = boost::beast;
using Json = nlohmann::json;

void Follower::start(unsigned http_port) {
  join();
  thread_ = std::thread([this, http_port] {
    try {
      follow(http_port, false);
    } catch (const boost::system::system_error&) {  // the server has ended
    }
  });
}

// Waits until the tables, and so readers, have what recovery replayed.
void Follower::catch_up(unsigned http_port) {
  const std::uint64_t newest = read_metric(http_port, "journal_batch");
  const auto shown = [&] {
    const std::string response = ask_http(http_port, "GET /api/symbols?limit=1");
    return Json::parse(response.substr(response.find("\r\n\r\n"))).value("batch", std::uint64_t(0));
  };
  while (shown() < newest) std::this_thread::yield();
  follow(http_port, true);
}

void Follower::follow(unsigned http_port, bool only_up_to_newest) {
  asio::io_context context;
  beast::websocket::stream<asio::ip::tcp::socket> socket(context);
  socket.next_layer().connect({asio::ip::address_v4::loopback(), std::uint16_t(http_port)});
  socket.handshake("exchange", "/ws");
  const Json subscribe{{"subscribe", {{"account", account_}, {"from", next_.load()}}}};
  socket.write(asio::buffer(subscribe.dump()));
  std::uint64_t newest = UINT64_MAX;
  while (!only_up_to_newest || next_ <= newest) {
    beast::flat_buffer buffer;
    socket.read(buffer);
    const std::string text = beast::buffers_to_string(buffer.data());
    const Json message = Json::parse(text);
    if (message.at("type") == "subscribed") newest = message.at("newest");
    if (message.at("type") == "error") throw std::runtime_error(text);
    if (message.at("type") != "events") continue;
    out_ << text << std::flush;
    next_ = message.at("events").back().at("number").get<std::uint64_t>() + 1;
  }
}

}  // namespace exchange::testing
