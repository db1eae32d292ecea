// The naive exchange: its outcomes at earlier versions (the tests of the engine compare its newest
// ones), and of its auction, on random books, the properties that no auction may break.
// testing/wire/auctions.txt shows the rules of auctions.
#include "model/naive_exchange.hpp"

#include <random>

#include "catch.hpp"
#include "client/loadgen/audit/auction.hpp"
#include "model/random_commands.hpp"

using namespace exchange;

namespace {

// outcome() of a command that would be accepted.
Outcome foreseen(const Outcome& outcome) {
  if (std::holds_alternative<Opened>(outcome)) return Opened{0};
  if (std::holds_alternative<Canceled>(outcome)) return Canceled{};
  if (std::holds_alternative<CanceledAll>(outcome)) return CanceledAll{};
  if (std::holds_alternative<Uncrossed>(outcome)) return Created{};
  return outcome;
}

}  // namespace

TEST_CASE("the model gives the outcome that a command had at its version, also later") {
  for (const bool extreme : {false, true}) {
    NaiveExchange model;
    RandomCommands random(test_seed(), extreme, true);
    struct Answered {
      Command command;
      Version version;
      Outcome outcome;
    };
    std::vector<Answered> answered;
    INFO("extreme " << extreme);
    for (int i = 0; i < 1'500; ++i) {
      const Command command = random.next(model.orders());
      const Version version = model.version();
      const Outcome foretold = model.outcome(command, version);
      REQUIRE(foretold == foreseen(model.apply(command, random.next_time())));
      answered.push_back({command, version, foretold});
    }
    for (const Answered& one : answered)
      REQUIRE(model.outcome(one.command, one.version) == one.outcome);
    // Between two changes that next_change names, nothing changes.
    for (std::size_t i = 0; i < answered.size(); i += 10) {
      Outcome before = model.outcome(answered[i].command, 0);
      for (Version version = 1, next = model.next_change(answered[i].command, 0);
           version <= model.version(); ++version) {
        const Outcome now = model.outcome(answered[i].command, version);
        if (version == next)
          next = model.next_change(answered[i].command, version);
        else
          REQUIRE(now == before);
        before = now;
      }
    }
  }
}

// The cash of many accounts buys more shares at a low price than a symbol can have.
TEST_CASE("the demand of an auction may exceed the shares that there are") {
  const Price price = Price::from_units(1);
  std::vector<AuctionOrder> orders{{Side::sell, price, Shares::whole(5), 1}};
  for (OrderId place = 2; place < 12; ++place)
    orders.push_back({Side::buy, price, shares_total_max, place});
  const auto found = auction(orders, std::nullopt);
  REQUIRE(found);
  CHECK(found->price == price);
  CHECK(found->volume == Shares::whole(5));
  CHECK(found->executions.size() == 1);
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
