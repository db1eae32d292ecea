#pragma once
// Keeps the markets trading: the markets take turns, with one request at a time over one
// connection, at a steady rate. Survives the server: while it is unavailable, tries with growing
// pauses, and resolves its name again, because a container may return at another address. Thread:
// one, the caller's.

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "client/bots/market.hpp"
#include "client/bots/wire.hpp"
#include "client/connection/stream.hpp"

namespace exchange::bots {

struct ListedSymbol {
  SymbolName name;
  Price anchor;  // its price walks around this
};

// Parses "SPY=580.25,QQQ": names with their prices; 100 if none is given. Throws
// std::invalid_argument, with the reason.
std::vector<ListedSymbol> parse_symbol_list(const std::string& text);

struct FloorOptions {
  std::string connect_to;  // HOST:PORT, or several separated by commas
  bool retry = false;      // orders have references, and are sent again
  std::vector<ListedSymbol> symbols;
  std::string account_prefix;  // digits, different in every run
  std::uint64_t seed = 0;
  double requests_per_s = 40;
  std::optional<double> duration_s;  // unset: until stopped
  Keys keys;
};

class TradingFloor {
 public:
  TradingFloor(FloorOptions options, const client::StopFlag& stop);

  // Trades until `stop` is set or the time is over, then cancels open orders, if the server is
  // available.
  void run();
  // Returns "requests=… sent-again=… lost=…": the totals so far.
  std::string summary() const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Seat {
    Market market;
    Clock::time_point rests_until;  // set after refusals
    Seat(MarketOptions options) : market(std::move(options)) {}
  };

  bool over() const { return stop_ || (end_ && Clock::now() >= *end_); }
  void pause_until(Clock::time_point when) const;
  void serve(Seat& seat);
  bool ask(Market& market, const std::vector<Command>& commands);
  std::string send(std::string_view document);
  void await_server();
  void wind_up();

  const FloorOptions options_;
  const client::StopFlag& stop_;
  std::optional<Clock::time_point> end_;
  std::deque<Seat> seats_;                 // a deque, so that markets do not move
  std::optional<client::Address> server_;  // unset: the server must be found
  std::optional<client::Stream> connection_;
  std::string refusal_;  // the last one of the server
  std::uint64_t requests_ = 0, sent_again_ = 0, lost_ = 0;
};

}  // namespace exchange::bots
