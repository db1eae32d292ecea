#pragma once
// The price of a call auction (docs/protocol.md, A4 and A5): the one at which most shares are
// executed. A pure function of both sides of a book.

#include <optional>
#include <span>

#include "engine/decimal.hpp"

namespace exchange {

// What one side offers at one price, or, at price 0, in market orders.
struct AuctionLevel {
  Price price;
  Int128 shares_units;
};
struct AuctionPrice {
  Price price;
  Int128 shares_units;   // executed
  Int128 surplus_units;  // what is bought at this price less what is sold
  bool operator==(const AuctionPrice&) const = default;
};
// Levels from the best one on, each price once. `last` is a price that may be chosen beside the
// limits, or 0. Market buys count up to `market_buys_max`; 0: at any price. Nothing if no shares
// can be executed. Takes time in O(levels).
std::optional<AuctionPrice> auction_price(std::span<const AuctionLevel> bids,
                                          std::span<const AuctionLevel> asks, Price last,
                                          Price market_buys_max);

}  // namespace exchange
