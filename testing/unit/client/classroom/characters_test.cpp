// The actions of bots of each character.
#include "client/classroom/characters.hpp"

#include <algorithm>

#include "catch.hpp"

using namespace exchange;
using namespace exchange::classroom;

namespace {

CharacterOptions options(std::uint64_t seed = 1) {
  CharacterOptions options;
  options.account = parse_account_id("7").value();
  options.symbol = parse_symbol_name("ABC").value();
  options.tick = 0.05;
  options.seed = seed;
  options.shares_at_start = 1'000;
  return options;
}

Sight sight(double bid, double ask, double last) {
  return {.value = last,
          .market = {.bid = bid, .ask = ask, .last = last},
          .cash = 1e6,
          .shares = 1'000};
}

std::vector<PlaceOrder> orders_in(const std::vector<Command>& commands) {
  std::vector<PlaceOrder> orders;
  for (const Command& one : commands)
    if (const auto* order = std::get_if<PlaceOrder>(&one)) orders.push_back(*order);
  return orders;
}

double price(const PlaceOrder& order) { return double(order.limit.units()) / 1e8; }

// Returns the one order with which the bot takes the other side; nothing if it does not act.
std::optional<PlaceOrder> taken(Character& character, const Sight& sight) {
  const auto orders = orders_in(character.turn(sight));
  REQUIRE(orders.size() <= 1);
  if (orders.empty()) return {};
  CHECK(orders[0].lifetime == Lifetime::immediate_or_cancel);
  CHECK(orders[0].account == options().account);
  return orders[0];
}

}  // namespace

TEST_CASE("a maker quotes both sides round the last price, on ticks") {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const auto maker = make_character(CharacterKind::maker, options(seed));
    const auto quotes = orders_in(maker->turn(sight(99, 101, 100)));
    REQUIRE(quotes.size() == 6);
    double best_bid = 0, best_ask = 1e9;
    for (const PlaceOrder& quote : quotes) {
      CHECK(quote.limit.units() % 5'000'000 == 0);
      CHECK(quote.lifetime == Lifetime::until_canceled);
      if (quote.side == Side::buy) best_bid = std::max(best_bid, price(quote));
      if (quote.side == Side::sell) best_ask = std::min(best_ask, price(quote));
    }
    CHECK(best_bid < best_ask);
    CHECK(best_bid > 99);
    CHECK(best_ask < 101);
  }
}

TEST_CASE("a maker begins at the price of the scenario, and cancels what it does not want") {
  const auto maker = make_character(CharacterKind::maker, options());
  Sight nothing{.cash = 1e6, .shares = 1'000};
  const auto quotes = orders_in(maker->turn(nothing));
  REQUIRE(quotes.size() == 6);
  CHECK(std::abs(price(quotes[0]) - 100) < 1);
  nothing.orders = {{5, Side::buy, Price::whole(50)}};
  const auto commands = maker->turn(nothing);
  REQUIRE(std::holds_alternative<CancelOrder>(commands.front()));
  CHECK(std::get<CancelOrder>(commands.front()).order == 5);
}

TEST_CASE("a maker that stands where it wants to stand sends nothing") {
  Sight now = sight(99, 101, 100);
  const auto one = make_character(CharacterKind::maker, options()),
             same = make_character(CharacterKind::maker, options());
  OrderId id = 1;
  for (const PlaceOrder& quote : orders_in(one->turn(now)))
    now.orders.push_back({id++, quote.side, quote.limit});
  CHECK(same->turn(now).empty());
}

TEST_CASE("a maker with many shares quotes lower") {
  Sight many = sight(99, 101, 100);
  many.shares = 2'000;
  const auto lower = make_character(CharacterKind::maker, options())->turn(many),
             usual = make_character(CharacterKind::maker, options())->turn(sight(99, 101, 100));
  CHECK(price(orders_in(lower)[0]) < price(orders_in(usual)[0]));
}

TEST_CASE("a thin market has few and distant quotes, and at times none") {
  const auto thin = make_character(CharacterKind::thin, options());
  int empty = 0;
  for (int turn = 0; turn < 100; ++turn) {
    const auto quotes = orders_in(thin->turn(sight(99, 101, 100)));
    if (quotes.empty()) {
      ++empty;
      continue;
    }
    REQUIRE(quotes.size() == 2);
    CHECK(price(quotes[1]) - price(quotes[0]) > 1.5);
  }
  CHECK(empty > 20);
  CHECK(empty < 80);
}

TEST_CASE("momentum buys what rises and sells what falls") {
  for (const bool rising : {true, false}) {
    const auto momentum = make_character(CharacterKind::momentum, options());
    std::optional<PlaceOrder> last;
    for (double at = 100; at > 90 && at < 110; at += rising ? 0.5 : -0.5)
      last = taken(*momentum, sight(at - 0.05, at + 0.05, at));
    REQUIRE(last);
    CHECK(last->side == (rising ? Side::buy : Side::sell));
  }
  const auto calm = make_character(CharacterKind::momentum, options());
  for (int turn = 0; turn < 20; ++turn) CHECK_FALSE(taken(*calm, sight(99.95, 100.05, 100)));
}

TEST_CASE("the informed trade where the market is wrong") {
  const auto informed = make_character(CharacterKind::informed, options());
  Sight now = sight(99.95, 100.05, 100);
  CHECK_FALSE(taken(*informed, now));
  now.value = 101;
  CHECK(taken(*informed, now)->side == Side::buy);
  now.value = 99;
  CHECK(taken(*informed, now)->side == Side::sell);
  now.market.is_open = false;
  CHECK_FALSE(taken(*informed, now));
}

TEST_CASE("a bear sells for minutes, then buys back what it sold") {
  const auto bear = make_character(CharacterKind::bear, options());
  Sight now = sight(99, 101, 100);
  CHECK(taken(*bear, now)->side == Side::sell);
  now.shares = 3;
  CHECK(taken(*bear, now)->shares == Shares::whole(3));
  now.shares = 0;
  CHECK_FALSE(taken(*bear, now));
  now.time_s = 200;
  int bought = 0;
  for (int turn = 0; turn < 20; ++turn)
    if (const auto order = taken(*bear, now)) {
      ++bought;
      CHECK(order->side == Side::buy);
    }
  CHECK(bought > 5);
  now.shares = 1'000;
  CHECK_FALSE(taken(*bear, now));
}

TEST_CASE("no bot takes what it cannot pay for") {
  Sight poor = sight(99, 101, 100);
  poor.cash = 250;
  poor.shares = 1;
  const auto noise = make_character(CharacterKind::noise, options());
  for (int turn = 0; turn < 200; ++turn)
    if (const auto order = taken(*noise, poor))
      CHECK(order->shares <= Shares::whole(order->side == Side::buy ? 2 : 1));
}

TEST_CASE("bots keep the lot and the largest order of a symbol") {
  CharacterOptions in_lots = options();
  in_lots.lot = 25;
  in_lots.shares_max = 60;
  in_lots.shares = 100;
  for (const CharacterKind kind :
       {CharacterKind::maker, CharacterKind::thin, CharacterKind::noise, CharacterKind::bear}) {
    const auto bot = make_character(kind, in_lots);
    Sight now = sight(99, 101, 100);
    now.cash = 3'000;
    for (int turn = 0; turn < 50; ++turn)
      for (const PlaceOrder& order : orders_in(bot->turn(now))) {
        CHECK(order.shares.units() % Shares::whole(25).units() == 0);
        CHECK(order.shares >= Shares::whole(25));
        CHECK(order.shares <= Shares::whole(50));
      }
    now.cash = now.shares = 20;  // less than a lot
    if (kind == CharacterKind::noise) CHECK_FALSE(taken(*bot, now));
  }
}

TEST_CASE("a breaker of rules cancels what was accepted") {
  const auto breaker = make_character(CharacterKind::breaker, options());
  Sight now = sight(99, 101, 100);
  for (int turn = 0; turn < 50; ++turn) CHECK(breaker->turn(now).size() == 1);
  now.orders = {{9, Side::buy, Price::whole(1)}};
  const auto commands = breaker->turn(now);
  REQUIRE(commands.size() == 1);
  CHECK(std::get<CancelOrder>(commands[0]).order == 9);
}

TEST_CASE("the value of a share moves, and comes back") {
  FairValue value(100, 7), same(100, 7);
  double low = 100, high = 100;
  for (int second = 0; second < 3'600; ++second) {
    const double now = value.at(second);
    low = std::min(low, now);
    high = std::max(high, now);
  }
  CHECK(low > 50);
  CHECK(high < 200);
  CHECK(high / low > 1.02);
  CHECK(same.at(3'599) == value.at(3'599));
}
