#pragma once
// The single-price auction in its plainest form: every candidate price is tried with every order.
// The naive exchange executes auctions by it, and tests compare the engine with it. It shares value
// types with the engine, and no logic. Pure; any thread.

#include <optional>
#include <vector>

#include "engine/commands.hpp"

namespace exchange {

// An order in the book when an auction ends.
struct AuctionOrder {
  Side side = Side::buy;
  std::optional<Price> limit;         // none: a market order
  Shares shares;                      // open shares, above 0
  OrderId place = 0;                  // of two orders with one limit, the lower place comes first
  std::optional<Price> highest = {};  // of a market buy: it does not execute above
};

struct AuctionExecution {
  std::size_t buy = 0;  // indexes of the orders given
  std::size_t sell = 0;
  Shares shares;
  bool operator==(const AuctionExecution&) const = default;
};

struct AuctionResult {
  Price price;
  Shares volume;
  std::vector<AuctionExecution> executions;  // in order; their sum is the volume
};

// The shares, in units, that could be bought and sold at this price: those of market orders and of
// orders whose limits allow it.
struct AuctionInterest {
  Int128 demand = 0;
  Int128 supply = 0;
};
AuctionInterest auction_interest(const std::vector<AuctionOrder>& orders, Price price);

// Returns the price at which most shares execute, or nothing if nothing can execute. The candidates
// are the limits of the orders, and the last price if one is given. Among several with the most
// volume, those with the smallest surplus remain. If each of these leaves buyers over, the highest
// wins; if each leaves sellers over, the lowest. Otherwise the price nearest to the last price
// wins, and of two equally near ones the lower (which cannot occur: the last price would be a third
// candidate); without a last price, the lowest wins.
//
// Market orders execute first, then orders by limit, then by place. Buyers and sellers are walked
// in parallel, and each step is one execution.
std::optional<AuctionResult> auction(const std::vector<AuctionOrder>& orders,
                                     std::optional<Price> last);

}  // namespace exchange
