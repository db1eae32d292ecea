// The bots against the real engine: they never stop, even if requests are refused or lost.
#include "client/bots/market.hpp"

#include <algorithm>
#include <map>

#include "catch.hpp"
#include "engine/exchange.hpp"

using namespace exchange;
using namespace exchange::bots;

namespace {

constexpr Timestamp now{1};

MarketOptions options_of(std::uint64_t seed, const char* symbol = "SPY",
                         Price anchor = Price::from_units(145'670'000'00)) {
  return {.symbol = SymbolName(symbol),
          .anchor = anchor,
          .account_prefix = std::string("77") + std::to_string(seed % 1000),
          .seed = seed,
          .stream = 1};
}

Answer answer_of(const Outcome& outcome) {
  if (const auto* opened = std::get_if<Opened>(&outcome)) return {.order = opened->order};
  if (const auto* canceled = std::get_if<Canceled>(&outcome))
    return {.canceled = canceled->status.canceled};
  if (const auto* status = std::get_if<Status>(&outcome))
    return {.open = status->open, .canceled = status->canceled};
  // NotInMemory too: the core would find it closed
  return {.refused = !std::holds_alternative<Created>(outcome)};
}

// An exchange, and the data that is visible from outside.
struct Floor {
  Exchange exchange;
  std::uint64_t self_trades = 0, trades = 0, refusals = 0;
  std::map<OrderId, std::string> owners{};
  std::map<OrderId, Shares> canceled{};

  std::vector<Answer> apply(const std::vector<Command>& commands) {
    std::vector<Answer> answers;
    for (const Command& command : commands) {
      const Outcome outcome = exchange.apply(command, now);
      answers.push_back(answer_of(outcome));
      Answer& answer = answers.back();
      if (const auto* place = std::get_if<PlaceOrder>(&command); place && !answer.refused)
        owners[answer.order] = place->account.view();
      if (const auto* cancel = std::get_if<CancelOrder>(&command); cancel && !answer.refused)
        canceled[cancel->order] = answer.canceled;
      if (const auto* query = std::get_if<QueryOrder>(&command);
          query && std::holds_alternative<NotInMemory>(outcome))
        answer = {.canceled = canceled[query->order]};  // as the tables have it
      refusals += answer.refused;
    }
    Rows rows;
    const ClosedMark mark = exchange.take_changes(rows);
    for (const ExecutionRow& execution : rows.executions) {
      ++trades;
      self_trades += owners.at(execution.buy_order) == owners.at(execution.sell_order);
    }
    exchange.release_closed(mark);
    return answers;
  }
  void step(Market& market, int requests = 1) {
    for (; requests > 0; --requests) market.answered(apply(market.next()));
  }

  Exchange::Depth best_ask() const {
    const auto asks = exchange.depth(SymbolName("SPY"), Side::sell);
    return asks.empty() ? Exchange::Depth{} : asks.front();
  }
  std::uint32_t open_orders(const char* symbol = "SPY") const {
    std::uint32_t orders = 0;
    for (const Side side : {Side::buy, Side::sell})
      for (const Exchange::Depth& level : exchange.depth(SymbolName(symbol), side))
        orders += level.orders;
    return orders;
  }
};

}  // namespace

TEST_CASE("two traders trade for a hundred thousand requests within their bounds and their means") {
  Floor floor;
  Market market(options_of(test_seed()));
  // 2 %, eight standard deviations of the walk
  const Price anchor = market.price(), range = Price::from_units(anchor.units() / 50);
  std::uint32_t open_most = 0;
  Price lowest = anchor, highest = anchor;
  for (int i = 0; i < 100'000; ++i) {
    floor.step(market);
    open_most = std::max(open_most, floor.open_orders());
    for (const Side side : {Side::buy, Side::sell})
      for (const Exchange::Depth& level : floor.exchange.depth(SymbolName("SPY"), side)) {
        lowest = std::min(lowest, level.price);
        highest = std::max(highest, level.price);
      }
  }
  CHECK(floor.exchange.check_invariants() == "");
  CHECK(open_most <= Market::open_orders_max);
  CHECK(open_most >= 2 * Market::levels);
  CHECK(lowest.units() >= anchor.units() - range.units());
  CHECK(highest.units() <= anchor.units() + range.units());
  CHECK(lowest < highest);
  CHECK(floor.trades > 20'000);
  CHECK(floor.self_trades == 0);
  CHECK(floor.refusals == 0);
  CHECK(market.accounts_used() == 2);
  CHECK(market.open_orders() >= floor.open_orders());
}

TEST_CASE("accounts of bots have names that tell them apart, and trade without one if need be") {
  Floor floor;
  Market market(options_of(7));
  std::vector<std::string> names;
  for (int i = 0; i < 2; ++i) {
    const std::vector<Command> commands = market.next();
    REQUIRE(commands.size() == 3);
    names.emplace_back(std::get<SetAccount>(commands[2]).name->view());
    std::vector<Answer> answers = floor.apply(commands);
    answers[2] = {.refused = true, .why = "an older server"};
    market.answered(answers);
  }
  CHECK(names == std::vector<std::string>{"SPY bot 1", "SPY bot 2"});
  CHECK(market.refusals() == 0);
  floor.step(market);
  CHECK(market.accounts_used() == 2);
  CHECK(market.open_orders() > 0);
}

TEST_CASE("the same seed makes the same requests and trades") {
  Floor one, two, other;
  Market market_one(options_of(5)), market_two(options_of(5)), market_other(options_of(6));
  one.step(market_one, 3'000);
  two.step(market_two, 3'000);
  other.step(market_other, 3'000);
  CHECK(one.exchange.totals().digest == two.exchange.totals().digest);
  CHECK(one.exchange.totals().digest != other.exchange.totals().digest);
}

TEST_CASE(
    "open orders stay bounded if replies are lost, before and after the server acted on them") {
  Floor floor;
  Market market(options_of(test_seed()));
  std::mt19937_64 random(test_seed());
  unsigned losses = 0;
  std::uint32_t open_most = 0;
  for (int i = 0; i < 100'000; ++i) {
    const std::vector<Command>& commands = market.next();
    const std::uint32_t chance = std::uint32_t(random() % 400);
    if (chance > 1) {
      market.answered(floor.apply(commands));
    } else {
      if (chance == 1) floor.apply(commands);
      market.lost();
      ++losses;
    }
    open_most = std::max(open_most, floor.open_orders());
  }
  INFO(losses << " losses");
  CHECK(floor.exchange.check_invariants() == "");
  CHECK(losses > 300);
  CHECK(open_most <= 3 * Market::open_orders_max);
  CHECK(market.accounts_used() <= 2 + losses);
  CHECK(floor.trades > 20'000);
}

TEST_CASE("what a run that was killed left in the book is traded away by the next") {
  Floor floor;
  for (std::uint64_t run = 0; run < 20; ++run) {
    Market market(options_of(test_seed() % 1'000'000 * 1000 + run));
    floor.step(market, 5'000);
    REQUIRE(floor.open_orders() <= 4 * Market::open_orders_max);
  }
  CHECK(floor.exchange.check_invariants() == "");
}

TEST_CASE("another client that buys everything is sold more, by new accounts") {
  Floor floor;
  Market market(options_of(test_seed()));
  floor.apply({CreateAccount{AccountId("1"), Cash::whole(1'000'000'000'000)}});
  for (int i = 0; i < 20'000; ++i) {
    floor.step(market);
    const Exchange::Depth best = floor.best_ask();
    if (best.orders > 0)
      floor.apply({PlaceOrder{AccountId("1"), SymbolName("SPY"), Side::buy, Shares::whole(20),
                              best.price}});
  }
  CHECK(floor.exchange.position(AccountId("1"), SymbolName("SPY")) >
        Shares::whole(10 * Market::shares_granted));
  CHECK(market.accounts_used() > 10);
  CHECK(market.accounts_used() < 200);
  CHECK(market.open_orders() <= Market::open_orders_max);
  CHECK(floor.exchange.check_invariants() == "");
}

TEST_CASE("an order whose cancel was lost is queried, and what was canceled was not executed") {
  Floor floor;
  Market market(options_of(test_seed()));
  const auto step_until = [&](auto is_wanted) {
    while (true)
      if (const std::vector<Command>& commands = market.next(); is_wanted(commands))
        return commands;
      else
        market.answered(floor.apply(commands));
  };
  const std::vector<Command> quote = step_until([](const std::vector<Command>& commands) {
    return std::holds_alternative<CancelOrder>(commands.front()) && commands.size() == 2;
  });
  const OrderId lost = std::get<CancelOrder>(quote.front()).order;
  const std::size_t open = market.open_orders();
  floor.apply(quote);
  market.lost();
  CHECK(market.open_orders() == open);
  const std::vector<Command> next = step_until([](auto&) { return true; });
  REQUIRE(next.size() == 1);
  CHECK(std::get<QueryOrder>(next.front()).order == lost);
  const std::uint64_t taken = market.shares_taken();
  market.answered(floor.apply(next));
  CHECK(market.open_orders() == open - 1);
  CHECK(market.shares_taken() == taken);
}

TEST_CASE("an order that another client has executed is not canceled twice") {
  Floor floor;
  Market market(options_of(test_seed()));
  floor.apply({CreateAccount{AccountId("1"), Cash::whole(1'000'000'000'000)}});
  for (int i = 0; i < 2'000; ++i) floor.step(market);
  const Exchange::Depth best = floor.best_ask();
  floor.apply({PlaceOrder{AccountId("1"), SymbolName("SPY"), Side::buy,
                          Shares::from_units(std::int64_t(best.shares_units)), best.price}});
  for (int i = 0; i < 2'000; ++i) floor.step(market);
  CHECK(floor.refusals <= best.orders);  // refused cancels
  CHECK(market.accounts_used() == 2);
}

TEST_CASE("bots continue if the store was replaced by an empty one") {
  Floor before, after;
  Market market(options_of(test_seed()));
  before.step(market, 1'000);
  after.step(market, 1'000);
  CHECK(after.trades > 100);
  CHECK(after.open_orders() <= Market::open_orders_max);
  CHECK(market.accounts_used() == 4);
}

TEST_CASE("a market that is refused everything counts its refusals") {
  Market market(options_of(3));
  for (int i = 0; i < 10; ++i)
    market.answered(std::vector<Answer>(market.next().size(), Answer{.refused = true}));
  CHECK(market.refusals() >= 10);
}

TEST_CASE("winding up leaves nothing of the bots in the book") {
  Floor floor;
  Market market(options_of(test_seed()));
  // At some steps no order is open: the bots change roles, or a bot has just bought all that was
  // left.
  for (int i = 0; i < 777 || floor.open_orders() == 0; ++i) floor.step(market);
  for (auto* commands = &market.wind_up(); !commands->empty(); commands = &market.wind_up())
    market.answered(floor.apply(*commands));
  CHECK(floor.open_orders() == 0);
  CHECK(market.open_orders() == 0);
}

TEST_CASE(
    "prices from a fraction of a cent to a thousand million keep their distance from zero and from the limit") {
  for (const Price anchor : {Market::anchor_min, Price::from_units(123'456),
                             Price::from_units(99'999'999), Price::whole(7), Market::anchor_max}) {
    Floor floor;
    Market market(options_of(test_seed(), "X", anchor));
    floor.step(market, 3'000);
    INFO("anchor " << to_string(anchor) << ", tick " << to_string(market.tick()));
    CHECK(floor.trades > 300);
    CHECK(floor.refusals == 0);
    CHECK(floor.exchange.check_invariants() == "");
  }
}
