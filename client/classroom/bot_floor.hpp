#pragma once
// BotFloor lets the bots of a class trade, over the HTTP port: each has its account, key and
// connection, reads the market data and what its account has, and sends what its character
// decides. It asks the exchange instead of remembering, so it goes on after a lost reply, a restart
// or a new day. Thread: one, the caller's.

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
  std::string http;  // HOST:PORT, or several with a comma between
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
    std::string problem;  // that was reported, since the server was reached last
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
  std::size_t tried_ = 0;  // servers that were of no use: which of them comes first
  std::optional<client::Stream> connection_;
  std::map<std::string, MarketSight> market_;
  Clock::time_point market_read_{}, report_due_{};
};

}  // namespace exchange::classroom
