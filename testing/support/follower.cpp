#include "support/follower.hpp"

#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/websocket.hpp>
#include <nlohmann/json.hpp>

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

void Follower::catch_up(unsigned http_port) {
  asio::io_context context;
  for (bool all = false; !all;) {  // recovery hands over to the tables what it replayed
    asio::ip::tcp::iostream http("127.0.0.1", std::to_string(http_port));
    http << "GET /metrics HTTP/1.0\r\nHost: exchange\r\n\r\n" << std::flush;
    const std::string page((std::istreambuf_iterator<char>(http)), {});
    const auto value = [&](const std::string& metric) {
      const std::size_t at = page.find("\n" + metric + " ");
      return at == std::string::npos
                 ? std::string()
                 : page.substr(at + metric.size() + 2,
                               page.find('\n', at + 1) - at - metric.size() - 2);
    };
    all = !value("exchange_journal_batch").empty() &&
          value("exchange_journal_batch") == value("exchange_projected_batch");
  }
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
