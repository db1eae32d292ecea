#pragma once
// The single-price auction in its plainest form: every candidate price is tried with every order.
// The naive exchange executes auctions by it, and tests compare the engine with it. It shares value
// types with the engine, and no logic. Pure; any thread.

#include <optional>
#include <vector>

#include "engine/commands.hpp"

namespace exchange {

// An order of the book that an auction meets.
struct AuctionOrder {
  Side side = Side::buy;
  std::optional<Price> limit;         // none: a market order
  Shares shares;                      // what is open of it, above 0
  OrderId place = 0;                  // of two orders of one limit the lower one comes first
  std::optional<Price> highest = {};  // of a market buy: above it it is not executed
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
  std::vector<AuctionExecution> executions;  // in their order; together the volume
};

// What is bought and sold at most at this price, in units: market orders, and limits that allow it.
struct AuctionInterest {
  Int128 demand = 0;
  Int128 supply = 0;
};
AuctionInterest auction_interest(const std::vector<AuctionOrder>& orders, Price price);

// The price at which most is executed. Candidates are the limits of the orders, and the last price
// if one is given. Of several with the most volume: the one with the smallest surplus; of those the
// highest if each leaves buyers over, the lowest if each leaves sellers over, otherwise the one
// nearest to the last price, of two equally near ones the lower (which cannot be: the last price
// would be a third one), and without a last price the lowest. None if nothing can be executed.
//
// Market orders are executed first, then by limit, then by place; buyers and sellers are walked in
// parallel, and each step is an execution.
std::optional<AuctionResult> auction(const std::vector<AuctionOrder>& orders,
                                     std::optional<Price> last);

}  // namespace exchange
