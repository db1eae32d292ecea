#pragma once
// Computes the price of a call auction (docs/protocol.md, A4 and A5): the one at which most shares
// are executed. A pure function of both sides of a book.

#include <optional>
#include <span>

#include "engine/decimal.hpp"

namespace exchange {

// The shares that one side offers at one price; price 0 stands for market orders.
struct AuctionLevel {
  Price price;
  Int128 shares_units;
};
struct AuctionPrice {
  Price price;
  Int128 shares_units;   // executed
  Int128 surplus_units;  // bought less sold at this price
  bool operator==(const AuctionPrice&) const = default;
};
// The levels start with the best one; each price occurs once. `last` is a price that may be chosen
// in addition to the limits, or 0. Market buys count up to `market_buys_max`; 0: at any price.
// Returns nothing if no shares can be executed. Takes O(levels) time.
std::optional<AuctionPrice> auction_price(std::span<const AuctionLevel> bids,
                                          std::span<const AuctionLevel> asks, Price last,
                                          Price market_buys_max);

}  // namespace exchange
