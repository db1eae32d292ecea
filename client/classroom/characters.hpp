#pragma once
// Characters choose what a bot does at each of its turns, from the market data of one symbol and
// from the state of its account. They keep little state, so a bot continues after a lost reply or a
// restart of the server or of the bots. Pure: the same seed and sights always give the same
// commands.

#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "base/described.hpp"
#include "engine/commands.hpp"

namespace exchange::classroom {

BOOST_DEFINE_FIXED_ENUM_CLASS(
    CharacterKind, std::uint8_t,
    maker,     // quotes on both sides, close to the market; the more shares it has, the lower
    thin,      // a maker far from the market, with small quotes that come and go
    noise,     // buys and sells at random
    momentum,  // buys what rises, sells what falls
    informed,  // knows what a share is worth, and trades where the market is wrong
    bear,      // sells for minutes in any market, then buys back
    breaker    // sends what the rules forbid
)

// The market data.
struct MarketSight {
  std::optional<double> bid, ask, last;
  bool is_open = true;       // orders execute
  bool takes_orders = true;  // true also if they are only collected
};
struct OwnOrder {
  OrderId id = 0;
  Side side = Side::buy;
  Price limit;
  bool operator==(const OwnOrder&) const = default;
};
struct Sight {
  double time_s = 0;  // since the bots began
  double value = 0;   // the value of a share, for characters that know it
  MarketSight market;
  double cash = 0, shares = 0;   // free
  double shares_in_orders = 0;   // in open sells
  std::vector<OwnOrder> orders;  // open
};

struct CharacterOptions {
  AccountId account;
  SymbolName symbol;
  double price = 100;          // where the market begins, if it has no price yet
  double tick = 0.01;          // above zero
  double lot = 1;              // numbers of shares are multiples of it; above zero
  double shares_max = 1e9;     // of an order
  double shares = 10;          // of an order
  double shares_at_start = 0;  // it tries to return to this number
  std::uint64_t seed = 0;
};

class Character {
 public:
  virtual ~Character() = default;
  // Returns the commands of one request; empty: nothing to do. Cancels name orders of the sight.
  virtual std::vector<Command> turn(const Sight& sight) = 0;
};
std::unique_ptr<Character> make_character(CharacterKind kind, const CharacterOptions& options);

// The value of a share: a price that walks at random, and sometimes moves by some percent because
// of news. In the long run it returns to where it began. It stays above zero.
class FairValue {
 public:
  FairValue(double price, std::uint64_t seed) : random_(seed), begin_(price), value_(price) {}
  // Times must not decrease.
  double at(double time_s);

 private:
  std::mt19937_64 random_;
  const double begin_;
  double value_, time_s_ = 0;
};

}  // namespace exchange::classroom
