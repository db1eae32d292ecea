#include "client/loadgen/audit/auction.hpp"

#include <algorithm>
#include <tuple>

namespace exchange {
namespace {

struct Candidate {
  Price price;
  Int128 volume;
  Int128 surplus;  // above 0: buyers are left over
};

Int128 magnitude(Int128 number) { return number < 0 ? -number : number; }

std::vector<Candidate> candidates(const std::vector<AuctionOrder>& orders,
                                  std::optional<Price> last) {
  std::vector<Price> prices;
  for (const AuctionOrder& order : orders)
    if (order.limit) prices.push_back(*order.limit);
  if (last) prices.push_back(*last);
  std::sort(prices.begin(), prices.end());
  prices.erase(std::unique(prices.begin(), prices.end()), prices.end());
  std::vector<Candidate> candidates;
  for (const Price price : prices) {
    const auto [demand, supply] = auction_interest(orders, price);
    candidates.push_back({price, std::min(demand, supply), demand - supply});
  }
  return candidates;
}

// Keeps only the candidates whose measure is smallest.
template <class Measure>
void keep_least(std::vector<Candidate>& candidates, const Measure& measure) {
  Int128 least = measure(candidates.front());
  for (const Candidate& one : candidates) least = std::min(least, measure(one));
  std::erase_if(candidates, [&](const Candidate& one) { return measure(one) != least; });
}

bool may_execute(const AuctionOrder& order, Side side, Price price) {
  if (order.side != side) return false;
  if (!order.limit) return !order.highest || price <= *order.highest;
  return side == Side::buy ? *order.limit >= price : *order.limit <= price;
}

// Returns the indexes of the orders of this side that may execute at the price, in order of
// priority.
std::vector<std::size_t> queue(const std::vector<AuctionOrder>& orders, Side side, Price price) {
  std::vector<std::size_t> indexes;
  for (std::size_t i = 0; i < orders.size(); ++i)
    if (may_execute(orders[i], side, price)) indexes.push_back(i);
  const auto rank = [&](std::size_t i) {
    const std::int64_t limit = orders[i].limit ? orders[i].limit->units() : 0;
    return std::tuple(orders[i].limit.has_value(), side == Side::buy ? -limit : limit,
                      orders[i].place);
  };
  std::sort(indexes.begin(), indexes.end(),
            [&](std::size_t a, std::size_t b) { return rank(a) < rank(b); });
  return indexes;
}

// Stops when one side has nothing left: the executions then add up to the volume.
std::vector<AuctionExecution> executions(const std::vector<AuctionOrder>& orders, Price price) {
  const std::vector<std::size_t> buys = queue(orders, Side::buy, price);
  const std::vector<std::size_t> sells = queue(orders, Side::sell, price);
  std::vector<Shares> open;
  for (const AuctionOrder& order : orders) open.push_back(order.shares);
  std::vector<AuctionExecution> executions;
  for (auto buy = buys.begin(), sell = sells.begin(); buy != buys.end() && sell != sells.end();) {
    const Shares shares = std::min(open[*buy], open[*sell]);
    executions.push_back({*buy, *sell, shares});
    if ((open[*buy] -= shares) == Shares()) ++buy;
    if ((open[*sell] -= shares) == Shares()) ++sell;
  }
  return executions;
}

}  // namespace

AuctionInterest auction_interest(const std::vector<AuctionOrder>& orders, Price price) {
  AuctionInterest interest;
  for (const AuctionOrder& order : orders) {
    if (may_execute(order, Side::buy, price)) interest.demand += order.shares.units();
    if (may_execute(order, Side::sell, price)) interest.supply += order.shares.units();
  }
  return interest;
}

std::optional<AuctionResult> auction(const std::vector<AuctionOrder>& orders,
                                     std::optional<Price> last) {
  std::vector<Candidate> left = candidates(orders, last);
  std::erase_if(left, [](const Candidate& one) { return one.volume == 0; });
  if (left.empty()) return std::nullopt;
  keep_least(left, [](const Candidate& one) { return -one.volume; });
  keep_least(left, [](const Candidate& one) { return magnitude(one.surplus); });

  const auto all = [&](auto condition) { return std::all_of(left.begin(), left.end(), condition); };
  if (all([](const Candidate& one) { return one.surplus > 0; })) {
    keep_least(left, [](const Candidate& one) { return -Int128(one.price.units()); });
  } else if (last && !all([](const Candidate& one) { return one.surplus < 0; })) {
    keep_least(left, [&](const Candidate& one) {
      return magnitude(Int128(one.price.units()) - last->units());
    });
  }
  keep_least(left, [](const Candidate& one) { return Int128(one.price.units()); });

  const Candidate& chosen = left.front();
  return AuctionResult{chosen.price, Shares::from_units(std::int64_t(chosen.volume)),
                       executions(orders, chosen.price)};
}

}  // namespace exchange
