#include "client/classroom/characters.hpp"

#include <algorithm>
#include <cmath>
#include <random>

namespace exchange::classroom {
namespace {

using Random = std::mt19937_64;

// Returns a number from 0 to 1. The distributions of <random> do not give the same results
// everywhere.
double uniform(Random& random) { return double(random() >> 11) * 0x1p-53; }

// The common part of all characters: prices on the tick grid, and orders of their account.
class Trader : public Character {
 public:
  explicit Trader(const CharacterOptions& options) : options_(options), random_(options.seed) {}

 protected:
  double uniform() { return classroom::uniform(random_); }
  bool happens(double probability) { return uniform() < probability; }

  // Returns the middle of the market, or the nearest substitute.
  double middle(const MarketSight& market) const {
    if (market.bid && market.ask) return (*market.bid + *market.ask) / 2;
    if (market.last) return *market.last;
    return market.bid ? *market.bid : market.ask ? *market.ask : options_.price;
  }
  Price price_of(double price) const {
    const double ticks = std::max(1.0, std::round(price / options_.tick));
    return Price::from_units(std::int64_t(ticks) * units_of_tick());
  }
  std::int64_t units_of_tick() const {
    return std::max<std::int64_t>(1, std::llround(options_.tick * double(Price::whole(1).units())));
  }
  Command order(Side side, double price, double shares, Lifetime lifetime) const {
    return PlaceOrder(options_.account, options_.symbol, side, shares_of(shares), price_of(price),
                      {}, lifetime);
  }
  static Shares shares_of(double shares) {
    return Shares::from_units(std::llround(shares * double(Shares::whole(1).units())));
  }
  // Rounds down to lots, but to at least one lot.
  double rounded(double shares) const {
    const double most = std::min(shares, options_.shares_max);
    return std::max(1.0, std::floor(most / options_.lot + 1e-9)) * options_.lot;
  }
  // Takes what the other side offers now, if the account can pay for it.
  std::vector<Command> take(const Sight& sight, Side side, double shares) const {
    const auto& price = side == Side::buy ? sight.market.ask : sight.market.bid;
    if (!price || !sight.market.is_open) return {};
    const double most = side == Side::buy ? sight.cash / *price : sight.shares;
    shares = rounded(std::min(shares, most));
    if (shares > most) return {};
    return {order(side, *price, shares, Lifetime::immediate_or_cancel)};
  }
  Command cancel(OrderId id) const { return CancelOrder{options_.account, id}; }

  const CharacterOptions options_;
  Random random_;
};

class Maker : public Trader {
 public:
  struct Ladder {
    unsigned levels;
    double half_spread, step;  // as a share of the price
    double shares;             // as a multiple of options.shares
    double presence;           // the share of its turns
  };
  Maker(const CharacterOptions& options, const Ladder& ladder) : Trader(options), ladder_(ladder) {}

  std::vector<Command> turn(const Sight& sight) override {
    std::vector<OwnOrder> wanted;
    if (happens(ladder_.presence)) wanted = quotes(sight);
    // Orders that are already at a wanted place keep their priority.
    std::vector<Command> commands;
    for (const OwnOrder& one : sight.orders) {
      const auto found = std::find_if(wanted.begin(), wanted.end(), [&](const OwnOrder& quote) {
        return quote.side == one.side && quote.limit == one.limit;
      });
      if (found == wanted.end())
        commands.push_back(cancel(one.id));
      else
        wanted.erase(found);
    }
    const double shares = rounded(options_.shares * ladder_.shares);
    for (const OwnOrder& quote : wanted)
      commands.push_back(PlaceOrder(options_.account, options_.symbol, quote.side,
                                    shares_of(shares), quote.limit));
    return commands;
  }

 private:
  std::vector<OwnOrder> quotes(const Sight& sight) {
    // It prefers the last price to quotes, some of which are its own.
    const double reference = sight.market.last.value_or(middle(sight.market));
    const double held = sight.shares + sight.shares_in_orders - options_.shares_at_start;
    const double skew =
        std::clamp(held / (options_.shares * 50), -1.0, 1.0) * 2 * ladder_.half_spread * reference;
    const double center = reference - skew + (uniform() - 0.5) * ladder_.half_spread * reference;
    const double half = std::max(ladder_.half_spread * reference, options_.tick);
    const double step = std::max(ladder_.step * reference, options_.tick);
    std::vector<OwnOrder> all;
    for (unsigned level = 0; level < ladder_.levels; ++level) {
      const double distance = half + level * step;
      all.push_back({0, Side::buy, price_of(std::max(center - distance, options_.tick))});
      all.push_back({0, Side::sell, price_of(center + distance)});
    }
    return all;
  }
  const Ladder ladder_;
};

class Noise final : public Trader {
  using Trader::Trader;
  std::vector<Command> turn(const Sight& sight) override {
    const Side side = happens(0.5) ? Side::buy : Side::sell;
    return take(sight, side, std::ceil(uniform() * options_.shares));
  }
};

class Momentum final : public Trader {
  using Trader::Trader;
  std::vector<Command> turn(const Sight& sight) override {
    const double now = middle(sight.market);
    if (slow_ == 0) slow_ = fast_ = now;
    fast_ += 0.5 * (now - fast_);
    slow_ += 0.1 * (now - slow_);
    constexpr double threshold = 0.001;
    const double held = sight.shares - options_.shares_at_start, most = 20 * options_.shares;
    if (fast_ > slow_ * (1 + threshold) && held < most)
      return take(sight, Side::buy, options_.shares);
    if (fast_ < slow_ * (1 - threshold) && held > -most)
      return take(sight, Side::sell, options_.shares);
    return {};
  }
  double fast_ = 0, slow_ = 0;
};

class Informed final : public Trader {
  using Trader::Trader;
  std::vector<Command> turn(const Sight& sight) override {
    constexpr double edge = 0.002;  // larger than the cost of a maker's spread
    if (sight.market.ask && *sight.market.ask < sight.value * (1 - edge))
      return take(sight, Side::buy, options_.shares);
    if (sight.market.bid && *sight.market.bid > sight.value * (1 + edge))
      return take(sight, Side::sell, options_.shares);
    return {};
  }
};

class Bear final : public Trader {
  using Trader::Trader;
  std::vector<Command> turn(const Sight& sight) override {
    constexpr double selling_s = 180, buying_s = 120;
    if (std::fmod(sight.time_s, selling_s + buying_s) < selling_s)
      return take(sight, Side::sell, options_.shares);
    if (sight.shares >= options_.shares_at_start || !happens(0.7)) return {};
    return take(sight, Side::buy, options_.shares);
  }
};

// Each request breaks one rule. If the class has no such rule, the accepted order is canceled.
class Breaker final : public Trader {
  using Trader::Trader;
  std::vector<Command> turn(const Sight& sight) override {
    std::vector<Command> commands;
    for (const OwnOrder& one : sight.orders) commands.push_back(cancel(one.id));
    if (commands.empty()) commands.push_back(violation(sight));
    return commands;
  }
  Command violation(const Sight& sight) {
    const double price = middle(sight.market);
    switch (random_() % 5) {
      case 0:  // more shares than it has
        return order(Side::sell, price, std::floor(sight.shares) + options_.shares * 1'000,
                     Lifetime::until_canceled);
      case 1:  // more than it can pay
        return order(Side::buy, price, std::ceil(sight.cash / price) + options_.shares,
                     Lifetime::until_canceled);
      case 2:  // between two ticks
        return PlaceOrder(options_.account, options_.symbol, Side::buy, shares_of(options_.lot),
                          Price::from_units(price_of(price / 2).units() + 1));
      case 3:  // far from the market
        return order(Side::buy, price / 100, options_.lot, Lifetime::until_canceled);
      default:  // an order of another account
        return cancel(1);
    }
  }
};

}  // namespace

std::unique_ptr<Character> make_character(CharacterKind kind, const CharacterOptions& options) {
  constexpr Maker::Ladder close{3, 0.0005, 0.0005, 1, 1}, far{1, 0.01, 0.01, 0.2, 0.5};
  switch (kind) {
    case CharacterKind::maker: return std::make_unique<Maker>(options, close);
    case CharacterKind::thin: return std::make_unique<Maker>(options, far);
    case CharacterKind::noise: return std::make_unique<Noise>(options);
    case CharacterKind::momentum: return std::make_unique<Momentum>(options);
    case CharacterKind::informed: return std::make_unique<Informed>(options);
    case CharacterKind::bear: return std::make_unique<Bear>(options);
    case CharacterKind::breaker: return std::make_unique<Breaker>(options);
  }
  return nullptr;
}

double FairValue::at(double time_s) {
  for (; time_s_ + 1 <= time_s; ++time_s_) {
    double change = (uniform(random_) - 0.5) * 0.001;                           // of one second
    if (uniform(random_) < 1.0 / 120) change += uniform(random_) * 0.1 - 0.05;  // news, up to 5 %
    value_ *= std::exp(change + std::log(begin_ / value_) * 0.0005);
  }
  return value_;
}

}  // namespace exchange::classroom
