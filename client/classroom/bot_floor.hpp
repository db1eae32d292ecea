#pragma once
// BotFloor lets the bots of a class trade over the HTTP port. Each bot has its account, key and
// connection, reads the market data and the state of its account, and sends the commands of its
// character. It asks the exchange instead of remembering, so it continues after a lost reply, a
// restart or a new day. Thread: one, the caller's.

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "client/classroom/class_folder.hpp"
#include "client/connection/http.hpp"

namespace exchange::classroom {

struct FloorOptions {
  std::string http;  // HOST:PORT, or several separated by commas
  client::Security security;
  std::uint64_t seed = 0;
  std::function<void(const std::string& line)> log;
};

class BotFloor {
 public:
  BotFloor(std::vector<Bot> bots, FloorOptions options, const client::StopFlag& stop);

  // Trades until `stop` is set, then cancels all orders of the bots, if the server is available.
  void run();

 private:
  using Clock = std::chrono::steady_clock;
  struct Seat {
    Bot bot;
    std::unique_ptr<Character> character;
    Clock::time_point due;
    std::optional<client::Stream> connection;
    std::uint64_t requests = 0, refused = 0;
    std::string refusal;  // the last one
    std::string problem;  // reported since the server was last reached
  };

  double seconds() const { return std::chrono::duration<double>(Clock::now() - begun_).count(); }
  void serve(Seat& seat);
  std::optional<Sight> sight_of(Seat& seat);
  const MarketSight* market_of(const std::string& symbol);
  void send(Seat& seat, const std::string& elements, std::size_t asked);
  client::HttpReply ask(Seat& seat, const std::string& head, const std::string& body = {});
  client::Stream connect() const;
  void wait(Clock::time_point until) const;
  void report(Seat& seat, const std::string& problem);
  void report_refusals();
  void wind_up();

  const FloorOptions options_;
  const client::StopFlag& stop_;
  const Clock::time_point begun_ = Clock::now();
  std::deque<Seat> seats_;
  std::map<std::string, FairValue> values_;  // by symbol
  std::size_t tried_ = 0;  // failed attempts: they determine which server comes first
  std::optional<client::Stream> connection_;
  std::map<std::string, MarketSight> market_;
  Clock::time_point market_read_{}, report_due_{};
};

}  // namespace exchange::classroom
