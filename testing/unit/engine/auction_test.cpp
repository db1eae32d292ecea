// Auctions of the engine (docs/protocol.md, A1 to A8): thousands of random books are compared with
// the auction in its plainest form, then what scripts of testing/wire do not show.
#include "client/loadgen/audit/auction.hpp"

#include <map>
#include <random>

#include "engine/auction.hpp"
#include "support.hpp"

using namespace exchange;

namespace {

const SetInstrument reopen{.symbol = sym, .trading = Trading::open};

// Small numbers: many books have several prices of the most volume.
std::vector<AuctionOrder> random_book(std::mt19937_64& random) {
  const auto below = [&](std::uint64_t end) { return random() % end; };
  std::vector<AuctionOrder> orders(below(14));
  const bool has_market = below(2) == 0;
  for (std::size_t i = 0; i < orders.size(); ++i) {
    orders[i] = {Side(below(2)), Price::whole(std::int64_t(8 + below(6))),
                 Shares::whole(std::int64_t(1 + below(4))), i + 1};
    if (has_market && below(3) == 0) orders[i].limit.reset();
  }
  return orders;
}

std::optional<Price> random_last(std::mt19937_64& random) {
  if (random() % 3 == 0) return {};
  return Price::from_units(std::int64_t(random() % 40) * 50'000'000);
}

// Returns the orders as levels, best first.
std::vector<AuctionLevel> levels(const std::vector<AuctionOrder>& orders, Side side) {
  std::map<Price, Int128> shares;
  for (const AuctionOrder& order : orders)
    if (order.side == side) shares[order.limit.value_or(Price())] += order.shares.units();
  std::vector<AuctionLevel> levels;
  for (const auto& [price, units] : shares) levels.push_back({price, units});
  if (side == Side::sell) return levels;
  std::reverse(levels.begin(), levels.end());
  if (shares.contains(Price())) std::rotate(levels.begin(), levels.end() - 1, levels.end());
  return levels;
}

class Auction : public TwoTraders {
 public:
  Outcome set(SetInstrument command) {
    command.symbol = sym;
    return apply(command);
  }
  Outcome trading(Trading state) { return set({.trading = state}); }
  Outcome market(std::string_view account, Side side, std::int64_t shares) {
    return apply(PlaceOrder{AccountId(account), sym, side, Shares::whole(shares)});
  }
};

Outcome uncrossed(std::int64_t shares, std::int64_t price) {
  return Uncrossed{Price::whole(price), Shares::whole(shares)};
}

}  // namespace

TEST_CASE("the price of an auction is that of the plainest form, on random books") {
  std::mt19937_64 random(test_seed());
  std::size_t auctions = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::vector<AuctionOrder> orders = random_book(random);
    const std::optional<Price> last = random_last(random);
    const Price highest = Price::whole(std::int64_t(random() % 20));
    for (AuctionOrder& order : orders)
      if (!order.limit && order.side == Side::buy && highest > Price()) order.highest = highest;
    const auto expected = auction(orders, last == Price() ? std::nullopt : last);
    const auto price = auction_price(levels(orders, Side::buy), levels(orders, Side::sell),
                                     last.value_or(Price()), highest);
    REQUIRE(price.has_value() == expected.has_value());
    if (!price) continue;
    ++auctions;
    REQUIRE(price->price == expected->price);
    REQUIRE(price->shares_units == expected->volume.units());
    const AuctionInterest interest = auction_interest(orders, price->price);
    REQUIRE(price->surplus_units == interest.demand - interest.supply);
  }
  CHECK(auctions > 2'000);
}

TEST_CASE("the executions of an auction are those of the plainest form, on random books") {
  std::mt19937_64 random(test_seed());
  std::size_t executions = 0;
  for (int i = 0; i < 1'000; ++i) {
    Market market;
    market.account("1", 1'000'000);
    market.give("1", 1'000);
    const auto set = [&](const SetInstrument& command) { return market.apply(command); };
    REQUIRE(set({.symbol = sym, .price_max = Price::whole(20), .trading = Trading::auction}) ==
            created());
    const std::vector<AuctionOrder> orders = random_book(random);
    for (const AuctionOrder& order : orders) {
      REQUIRE(market.apply(PlaceOrder{AccountId("1"), sym, order.side, order.shares,
                                      order.limit.value_or(Price())}) == opened(order.place));
    }
    const auto expected = auction(orders, std::nullopt);
    const Outcome outcome = set({.symbol = sym, .trading = Trading::open});
    const auto rows = market.engine.executions_after(0);
    REQUIRE(rows.size() == (expected ? expected->executions.size() : 0));
    if (!expected) continue;
    REQUIRE(outcome == Outcome(Uncrossed{expected->price, expected->volume}));
    for (std::size_t at = 0; at < rows.size(); ++at) {
      const AuctionExecution& one = expected->executions[at];
      REQUIRE(rows[at].buy_order == one.buy + 1);
      REQUIRE(rows[at].sell_order == one.sell + 1);
      REQUIRE(rows[at].shares == one.shares);
      REQUIRE(rows[at].price == expected->price);
      REQUIRE(rows[at].of_auction);
    }
    executions += rows.size();
  }
  CHECK(executions > 200);
}

TEST_CASE_METHOD(Auction, "a market buy of an auction pays no more than it reserved") {
  CHECK(sell("2", 100, 20) == opened(1));  // before there is a highest price
  CHECK(set({.price_max = Price::whole(10), .trading = Trading::auction}) == created());
  CHECK(market("1", Side::buy, 100) == opened(2));
  CHECK(trading(Trading::open) == created());
  CHECK(balance("1") == Cash::whole(1'000'000));
  CHECK(set({.price_max = Price()}) == created());
  CHECK(buy("1", 5, 19) == opened(3));
  CHECK(set({.price_max = Price::whole(30), .trading = Trading::auction}) == created());
  CHECK(buy("1", 5, 21) == opened(4));
  CHECK(trading(Trading::halted) == created());
  CHECK(set({.price_max = Price::whole(10), .trading = Trading::auction}) == created());
  CHECK(market("1", Side::buy, 100) == opened(5));
  CHECK(trading(Trading::open) == uncrossed(5, 20));  // without the market buy
  CHECK(query("1", 5) == Outcome(Status{5, Shares(), Shares::whole(100), now, {}}));
}

TEST_CASE_METHOD(Auction,
                 "a price above the highest leaves out market buys, and a level that was left") {
  trading(Trading::auction);
  CHECK(buy("1", 7, 31) == opened(1));
  CHECK(buy("1", 5, 25) == opened(2));
  CHECK(sell("2", 5, 20) == opened(3));
  trading(Trading::halted);
  CHECK(set({.price_max = Price::whole(10), .trading = Trading::auction}) == created());
  CHECK(market("1", Side::buy, 10) == opened(4));
  CHECK(std::holds_alternative<Canceled>(cancel("1", 1)));
  CHECK(trading(Trading::open) == uncrossed(5, 20));
  CHECK(query("1", 2) == status(2, 0, {executed(5, 20)}));
  CHECK(balance("1") == Cash::whole(1'000'000 - 100));
}

TEST_CASE_METHOD(Auction, "a restart keeps what an auction has collected and reserved") {
  buy("1", 1, 9);
  sell("2", 1, 9);
  CHECK(set({.price_max = Price::whole(100), .trading = Trading::auction}) == created());
  CHECK(market("1", Side::buy, 10) == opened(3));
  CHECK(market("2", Side::sell, 10) == opened(4));
  Exchange other = restarted();
  CHECK(other.check_invariants() == "");
  CHECK(other.balance(AccountId("1")) == Cash::whole(1'000'000 - 9 - 1'000));
  CHECK(other.apply(reopen, now) == uncrossed(10, 9));  // at the last price
  CHECK(other.balance(AccountId("1")) == Cash::whole(1'000'000 - 9 - 90));
}

TEST_CASE_METHOD(Auction, "a restart keeps what an auction collected before a halt") {
  trading(Trading::auction);
  CHECK(buy("1", 10, 12) == opened(1));
  CHECK(sell("2", 10, 10) == opened(2));
  CHECK(trading(Trading::halted) == created());
  CHECK(restarted().apply(reopen, now) == uncrossed(10, 10));
}

TEST_CASE_METHOD(Auction, "a restart keeps the last price, which the band follows") {
  CHECK(set({.band = Price::whole(2)}) == created());
  buy("1", 1, 500);
  sell("2", 1, 500);
  CHECK(restarted().apply(
            PlaceOrder{AccountId("1"), sym, Side::buy, Shares::whole(1), Price::whole(503)}, now) ==
        Outcome(Rejected{Reason::price_too_high, 50'200'000'000}));
}

TEST_CASE_METHOD(Auction, "an auction that an order starts begins at its time") {
  buy("1", 1, 100);
  sell("2", 1, 100);
  CHECK(set({.band = Price::whole(5), .at_band = AtBand::auction}) == created());
  now = seconds(7);
  CHECK(buy("1", 1, 110) == opened(3));
  Rows rows;
  engine.take_changes(rows);
  REQUIRE(rows.symbols.size() == 1);
  CHECK(rows.symbols[0].trading == Trading::volatility);
  CHECK(rows.symbols[0].trading_since == now);
}
