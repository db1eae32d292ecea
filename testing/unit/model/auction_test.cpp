// The auction of the naive exchange, rule by rule; on random books, the properties that no auction
// may break.
#include "client/loadgen/audit/auction.hpp"

#include <random>

#include "catch.hpp"

using namespace exchange;

namespace {

// A book in words: "buy 300 at 10, sell 200" (a market order), places in that order.
std::vector<AuctionOrder> book(const std::string& text) {
  std::vector<AuctionOrder> orders;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line, ',');) {
    std::istringstream words(line);
    std::string side, shares, at, limit;
    words >> side >> shares >> at >> limit;
    REQUIRE((side == "buy" || side == "sell"));
    orders.push_back({side == "buy" ? Side::buy : Side::sell, std::nullopt,
                      parse_shares(shares).value, orders.size() + 1});
    if (at == "at") orders.back().limit = parse_price(limit).value;
  }
  return orders;
}

// "300 at 10: 1-2 100, 1-3 200": volume, price and executions (buyer, seller, shares).
std::string result(const std::vector<AuctionOrder>& orders, const std::string& last = "") {
  const auto found =
      auction(orders, last.empty() ? std::nullopt : std::optional(parse_price(last).value));
  if (!found) return "nothing";
  std::string text = to_string(found->volume) + " at " + to_string(found->price);
  for (const AuctionExecution& one : found->executions)
    text += (one == found->executions.front() ? ": " : ", ") + std::to_string(one.buy + 1) + "-" +
            std::to_string(one.sell + 1) + " " + to_string(one.shares);
  return text;
}

std::string result(const std::string& text, const std::string& last = "") {
  return result(book(text), last);
}

}  // namespace

TEST_CASE("an auction executes what it can at the price of the most volume") {
  CHECK(result("buy 100 at 12, buy 100 at 11, buy 100 at 10, sell 150 at 9, sell 50 at 11") ==
        "200 at 11: 1-4 100, 2-4 50, 2-5 50");
  CHECK(result("buy 100 at 10, sell 60 at 10") == "60 at 10: 1-2 60");
  CHECK(result("buy 0.00000001 at 0.00000001, sell 7 at 0.00000001") ==
        "0.00000001 at 0.00000001: 1-2 0.00000001");
}

TEST_CASE("nothing is executed if no buyer pays what a seller asks") {
  CHECK(result("") == "nothing");
  CHECK(result("", "10") == "nothing");
  CHECK(result("buy 100 at 10, sell 100 at 10.01", "10") == "nothing");
  CHECK(result("buy 100 at 10, buy 100", "10") == "nothing");
  CHECK(result("sell 100 at 10, sell 100", "10") == "nothing");
}

TEST_CASE("an auction of equal volumes takes the smallest surplus") {
  // 100 at 9, 10 and 12, with surpluses of 100 and 50 buyers and 100 sellers
  const std::string orders =
      "buy 100 at 12, buy 50 at 10, buy 50 at 9, sell 100 at 9, sell 100 at 12";
  CHECK(result(orders) == "100 at 10: 1-4 100");
  CHECK(result(orders, "12") == "100 at 10: 1-4 100");
  CHECK(result(orders, "11") == "100 at 11: 1-4 100");  // the last price leaves no surplus
  CHECK(result("buy 100 at 12, buy 50 at 10, sell 100 at 9, sell 20 at 12", "9") ==
        "100 at 12: 1-3 100");
}

TEST_CASE("an auction that leaves buyers over at each price takes the highest") {
  CHECK(result("buy 200 at 12, sell 100 at 9") == "100 at 12: 1-2 100");
  CHECK(result("buy 200 at 12, sell 100 at 9", "9") == "100 at 12: 1-2 100");
  CHECK(result("buy 200 at 12, sell 100 at 9", "20") == "100 at 12: 1-2 100");
}

TEST_CASE("an auction that leaves sellers over at each price takes the lowest") {
  CHECK(result("buy 100 at 12, sell 200 at 9") == "100 at 9: 1-2 100");
  CHECK(result("buy 100 at 12, sell 200 at 9", "12") == "100 at 9: 1-2 100");
  CHECK(result("buy 100 at 12, sell 200 at 9", "1") == "100 at 9: 1-2 100");
}

TEST_CASE("an auction with no surplus takes the price nearest to the last one") {
  const std::string orders = "buy 100 at 12, sell 100 at 9";
  CHECK(result(orders, "20") == "100 at 12: 1-2 100");
  CHECK(result(orders, "10.60") == "100 at 10.6: 1-2 100");  // the last price is a candidate
  CHECK(result(orders, "1") == "100 at 9: 1-2 100");
  CHECK(result(orders) == "100 at 9: 1-2 100");
}

TEST_CASE(
    "an auction that leaves buyers over at one price and sellers at another takes the nearest") {
  // 100 at 10 and 13, with surpluses of 50 buyers and 50 sellers; a price between them leaves no
  // surplus
  const std::string orders = "buy 100 at 13, buy 50 at 10, sell 100 at 10, sell 50 at 13";
  CHECK(result(orders, "13.50") == "100 at 13: 1-3 100");
  CHECK(result(orders, "9.50") == "100 at 10: 1-3 100");
  CHECK(result(orders) == "100 at 10: 1-3 100");
  CHECK(result(orders, "11.50") == "100 at 11.5: 1-3 100");
}

TEST_CASE("market orders come first in an auction, then better limits, then earlier places") {
  CHECK(result("buy 100 at 10, buy 100 at 11, buy 100, buy 100 at 11, sell 350 at 10") ==
        "350 at 10: 3-5 100, 2-5 100, 4-5 100, 1-5 50");
  CHECK(result("sell 100 at 10, sell 100 at 9, sell 100, sell 100 at 9, buy 350 at 10") ==
        "350 at 10: 5-3 100, 5-2 100, 5-4 100, 5-1 50");
  std::vector<AuctionOrder> orders = book("buy 100 at 10, buy 100 at 10, sell 100 at 10");
  orders[0].place = 9;  // as after a replace
  CHECK(result(orders) == "100 at 10: 2-3 100");
}

TEST_CASE("an auction of market orders alone needs a last price") {
  CHECK(result("buy 100, sell 60") == "nothing");
  CHECK(result("buy 100, sell 60", "10") == "60 at 10: 1-2 60");
  CHECK(result("buy 100, sell 60 at 9") == "60 at 9: 1-2 60");
  CHECK(result("buy 100, sell 100, buy 10 at 5") == "100 at 5: 1-2 100");
}

TEST_CASE("a market buy of an auction pays no more than it can") {
  std::vector<AuctionOrder> orders = book("buy 100, sell 100 at 20, buy 5 at 21");
  orders[0].highest = Price::whole(10);
  CHECK(result(orders) == "5 at 20: 3-2 5");
  orders[0].highest = Price::whole(20);
  CHECK(result(orders) == "100 at 20: 1-2 100");
}

// The cash of many accounts buys more shares at a low price than a symbol can have.
TEST_CASE("the demand of an auction may exceed the shares that there are") {
  std::vector<AuctionOrder> orders = book("sell 5 at 0.00000001");
  for (OrderId place = 2; place < 12; ++place)
    orders.push_back({Side::buy, Price::from_units(1), shares_total_max, place});
  CHECK(result(orders) == "5 at 0.00000001: 2-1 5");
}

TEST_CASE(
    "no random auction has a better price, and its executions keep all limits and priorities") {
  std::mt19937_64 random(test_seed());
  const auto draw = [&](int least, int most) {
    return std::uniform_int_distribution(least, most)(random);
  };
  int auctions = 0;
  for (int run = 0; run < 3'000; ++run) {
    std::vector<AuctionOrder> orders;
    for (int i = draw(0, 12); i > 0; --i) {
      const auto limit = draw(0, 5) == 0 ? std::nullopt : std::optional(Price::whole(draw(5, 12)));
      orders.push_back(
          {draw(0, 1) ? Side::buy : Side::sell, limit, Shares::whole(draw(1, 5)), OrderId(i)});
    }
    const auto last = draw(0, 2) == 0 ? std::nullopt : std::optional(Price::whole(draw(4, 13)));
    const auto found = auction(orders, last);
    const auto volume_at = [&](Price price) {
      const auto [demand, supply] = auction_interest(orders, price);
      return std::min(demand, supply);
    };
    Int128 most = 0;
    for (int price = 4; price <= 13; ++price) most = std::max(most, volume_at(Price::whole(price)));
    if (!found) {
      const bool priced = last || std::any_of(orders.begin(), orders.end(),
                                              [](const AuctionOrder& one) { return one.limit; });
      CHECK((most == 0 || !priced));
      continue;
    }
    ++auctions;
    CHECK(found->volume.units() == most);
    CHECK(volume_at(found->price) == most);

    std::vector<Shares> executed(orders.size());
    for (const AuctionExecution& one : found->executions) {
      CHECK(one.shares > Shares());
      executed[one.buy] += one.shares;
      executed[one.sell] += one.shares;
      CHECK((!orders[one.buy].limit || *orders[one.buy].limit >= found->price));
      CHECK((!orders[one.sell].limit || *orders[one.sell].limit <= found->price));
    }
    Shares bought;
    for (std::size_t i = 0; i < orders.size(); ++i) {
      CHECK(executed[i] <= orders[i].shares);
      if (orders[i].side == Side::buy) bought += executed[i];
      // if an order is executed, no order before it has open shares
      for (std::size_t j = 0; j < orders.size(); ++j) {
        const AuctionOrder &one = orders[i], &other = orders[j];
        const bool better =
            one.limit && (!other.limit || (one.side == Side::buy ? *other.limit > *one.limit
                                                                 : *other.limit < *one.limit));
        const bool earlier = one.limit == other.limit && other.place < one.place;
        if (one.side == other.side && (better || earlier) && executed[i] > Shares())
          CHECK(executed[j] == other.shares);
      }
    }
    CHECK(bought == found->volume);
  }
  CHECK(auctions > 1'500);
}
