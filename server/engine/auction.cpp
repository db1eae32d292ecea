#include "engine/auction.hpp"

#include <algorithm>
#include <utility>

namespace exchange {
namespace {

Int128 distance(Price a, Price b) {
  return a < b ? Int128(b.units()) - a.units() : Int128(a.units()) - b.units();
}
Int128 magnitude(Int128 number) { return number < 0 ? -number : number; }

}  // namespace

std::optional<AuctionPrice> auction_price(std::span<const AuctionLevel> bids,
                                          std::span<const AuctionLevel> asks, Price last,
                                          Price market_buys_max) {
  // from the lowest price up, each price once: `demand` loses the bids below the price, and
  // `supply` gains the asks up to it
  Int128 demand = 0, supply = 0;
  for (const AuctionLevel& bid : bids) demand += bid.shares_units;
  Int128 market_buys =
      !bids.empty() && bids.front().price == Price() ? bids.front().shares_units : 0;
  auto bid = bids.rbegin();
  auto ask = asks.begin();
  for (; ask != asks.end() && ask->price == Price(); ++ask) supply += ask->shares_units;

  // the lowest, the highest and the nearest to `last` of the best prices so far; whether there is a
  // surplus of buys at each of them, or of sells
  struct Best {
    AuctionPrice low, high, near;
    bool all_bought = true, all_sold = true;
  };
  std::optional<Best> best;
  const auto merit = [](const AuctionPrice& of) {
    return std::pair(of.shares_units, -magnitude(of.surplus_units));
  };
  const auto consider = [&](Price price) {
    const AuctionPrice now{price, std::min(demand, supply), demand - supply};
    if (now.shares_units == 0) return;
    if (!best || merit(now) > merit(best->low)) best = Best{now, now, now};
    if (merit(now) < merit(best->low)) return;
    best->high = now;
    if (last > Price() && distance(price, last) < distance(best->near.price, last))
      best->near = now;
    best->all_bought &= now.surplus_units > 0;
    best->all_sold &= now.surplus_units < 0;
  };

  bool last_is_left = last > Price();
  while (true) {
    const bool has_bid = bid != bids.rend() && bid->price > Price(), has_ask = ask != asks.end();
    if (!has_bid && !has_ask && !last_is_left) break;
    Price price = has_bid ? bid->price : has_ask ? ask->price : last;
    if (has_ask) price = std::min(price, ask->price);
    if (last_is_left) price = std::min(price, last);
    if (market_buys_max > Price() && price > market_buys_max)
      demand -= std::exchange(market_buys, 0);
    if (has_ask && ask->price == price) supply += (ask++)->shares_units;
    consider(price);
    if (has_bid && bid->price == price) demand -= (bid++)->shares_units;
    last_is_left &= last != price;
  }
  if (!best) return {};
  if (best->all_bought) return best->high;
  if (best->all_sold) return best->low;
  return best->near;
}

}  // namespace exchange
