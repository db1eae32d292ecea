#include <algorithm>

#include "judge/conformance/cases.hpp"

namespace exchange::conformance {
namespace {

// A symbol, an account with as many shares and one with cash for as many.
struct Market {
  static constexpr Quarters seller_cash = 4;
  Market(Talk& talk, std::int64_t shares, Quarters limit)
      : seller(talk.given_account(seller_cash)),
        buyer(talk.given_account(shares * limit)),
        symbol(talk.given_symbol({{seller, shares}})) {}
  std::string seller, buyer, symbol;
};

// What the shares of these executions cost, in quarters. Blocks where that is no whole number.
Quarters cost(const OrderState& state) {
  std::int64_t sum = 0;
  for (const Fill& fill : state.fills) {
    if (fill.shares % units_per_share != 0 || fill.price % units_per_quarter != 0)
      throw Blocked("an execution of a part of a share, or of a price that no order has", "M6");
    sum += fill.shares / units_per_share * (fill.price / units_per_quarter);
  }
  return sum;
}

void buy_reserves_cash(Talk& talk) {
  const Quarters limit = talk.any_price();
  const std::string account = talk.given_account(10 * limit);
  const std::string symbol = talk.given_symbol({{account, 1}});
  talk.given_refused(account, symbol, 11, limit);
  talk.given_order(account, symbol, 6, limit);
  talk.expect_refused(account, symbol, 5, limit,
                      "a buy of 5 shares, after one of 6, with cash for 10");
  talk.expect_opened(account, symbol, 4, limit, "a buy with the cash that is not reserved");
}

void sell_reserves_shares(Talk& talk) {
  const std::int64_t shares = talk.any_shares();
  const std::string account = talk.given_account(4),
                    symbol = talk.given_symbol({{account, 2 * shares}});
  talk.given_refused(account, symbol, -2 * shares - 1, 400);
  talk.given_order(account, symbol, -shares - 1, 400);
  talk.expect_refused(account, symbol, -shares, 400, "a sell of shares that are reserved");
  talk.expect_opened(account, symbol, -shares + 1, 400,
                     "a sell of the shares that are not reserved");
}

void refused_without_cash(Talk& talk) {
  const std::int64_t shares = talk.any_shares();
  const Quarters limit = talk.any_price();
  const std::string account = talk.given_account(shares * limit);
  const std::string symbol = talk.given_symbol({{account, 1}});
  talk.expect_refused(account, symbol, shares + 1, limit, "a buy for more than the balance");
  talk.expect_refused(account, symbol, shares, limit + 1, "a buy for more than the balance");
  talk.expect_opened(account, symbol, shares, limit, "a buy for exactly the balance");
}

void refused_without_shares(Talk& talk) {
  const std::int64_t shares = talk.any_shares();
  const std::string account = talk.given_account(4),
                    symbol = talk.given_symbol({{account, shares}});
  talk.expect_refused(account, symbol, -shares - 1, 400, "a sell of more than the account has");
  talk.expect_opened(account, symbol, -shares, 400, "a sell of all shares of the account");
  const std::string none = talk.given_account(400);
  talk.expect_refused(none, symbol, -1, 400, "a sell without shares");
}

// A resting and an arriving order, in both directions.
void cross(Talk& talk, Quarters buy, Quarters sell, bool matches, const std::string& why) {
  const std::int64_t shares = talk.any_shares();
  for (const bool buy_first : {true, false}) {
    const Market m(talk, shares, std::max(buy, sell));
    std::string bought, sold;
    if (buy_first) bought = talk.given_order(m.buyer, m.symbol, shares, buy);
    sold = talk.given_order(m.seller, m.symbol, -shares, sell);
    if (!buy_first) bought = talk.given_order(m.buyer, m.symbol, shares, buy);
    talk.given_status(m.buyer, bought);
    talk.expect_executed(m.buyer, bought, matches ? shares : 0, why);
    talk.expect_executed(m.seller, sold, matches ? shares : 0, why);
  }
}
void prices_cross(Talk& talk) {
  const Quarters limit = talk.any_price();
  cross(talk, limit + talk.between(1, 20), limit, true, "a buy above the limit of the sell");
}
void prices_are_equal(Talk& talk) {
  const Quarters limit = talk.any_price();
  cross(talk, limit, limit, true, "a buy at the limit of the sell");
}
void prices_do_not_cross(Talk& talk) {
  const Quarters limit = talk.any_price();
  cross(talk, limit, limit + talk.between(1, 20), false, "a buy below the limit of the sell");
}
void symbols_are_apart(Talk& talk) {
  const Market a(talk, 10, 400), b(talk, 10, 400);
  const std::string sell = talk.given_order(a.seller, a.symbol, -10, 40);
  const std::string buy = talk.given_order(b.buyer, b.symbol, 10, 400);
  talk.given_status(b.buyer, buy);
  talk.expect_executed(b.buyer, buy, 0, "orders of two symbols");
  talk.expect_open(a.seller, sell, 10, "orders of two symbols");
}

// Three sells, or buys, at other prices; the arriving order is for the best of them.
void best_price_first(Talk& talk) {
  const Quarters base = talk.any_price() + 40;
  const std::int64_t shares = talk.any_shares(), best = talk.between(0, 2);
  for (const bool sells_rest : {true, false}) {
    Market m(talk, 3 * shares, base + 40);
    std::string ids[3];
    for (std::int64_t i = 0; i < 3; ++i) {
      const Quarters better = i == best ? 12 : 4 * ((i + best) % 2);
      ids[i] = sells_rest ? talk.given_order(m.seller, m.symbol, -shares, base - better)
                          : talk.given_order(m.buyer, m.symbol, shares, base + better);
    }
    if (sells_rest)
      talk.given_executed(m.buyer, talk.given_order(m.buyer, m.symbol, shares, base + 8));
    else
      talk.given_executed(m.seller, talk.given_order(m.seller, m.symbol, -shares, base - 8));
    for (std::int64_t i = 0; i < 3; ++i)
      talk.expect_executed(
          sells_rest ? m.seller : m.buyer, ids[i], i == best ? shares : 0,
          i == best ? "the order with the best price" : "an order with a worse price than another");
  }
}

void oldest_first(Talk& talk) {
  const Quarters limit = talk.any_price();
  const std::int64_t shares = talk.any_shares();
  for (const bool sells_rest : {true, false}) {
    Market m(talk, 3 * shares, limit + 8);
    std::string ids[3];
    for (std::string& id : ids)
      id = sells_rest ? talk.given_order(m.seller, m.symbol, -shares, limit)
                      : talk.given_order(m.buyer, m.symbol, shares, limit);
    for (std::size_t executed = 1; executed <= 2; ++executed) {
      if (sells_rest)
        talk.given_executed(m.buyer, talk.given_order(m.buyer, m.symbol, shares, limit + 4));
      else
        talk.given_executed(m.seller, talk.given_order(m.seller, m.symbol, -shares, limit - 4));
      for (std::size_t i = 0; i < 3; ++i)
        talk.expect_executed(sells_rest ? m.seller : m.buyer, ids[i], i < executed ? shares : 0,
                             "of orders at one price the oldest goes first");
    }
  }
}

void keeps_its_place(Talk& talk) {
  const Quarters limit = talk.any_price();
  const std::int64_t shares = talk.any_shares() + 2;
  Market m(talk, 2 * shares, limit + 8);
  const std::string ids[] = {talk.given_order(m.seller, m.symbol, -shares, limit),
                             talk.given_order(m.seller, m.symbol, -shares, limit)};
  talk.given_executed(m.buyer, talk.given_order(m.buyer, m.symbol, 1, limit + 4));
  // whichever it was: M4 is tested on its own
  const bool second = talk.given_status(m.seller, ids[1]).executed() > 0;
  talk.given_order(m.buyer, m.symbol, shares - 1, limit + 4);
  talk.expect_executed(m.seller, ids[second ? 1 : 0], shares,
                       "an order that was filled in part goes before the next at its price");
}

void rest_stays_open(Talk& talk) {
  const Quarters limit = talk.any_price();
  const std::int64_t shares = talk.any_shares(), more = talk.any_shares();
  Market m(talk, shares + more, limit + 8);
  talk.given_order(m.seller, m.symbol, -shares, limit);
  const std::string buy = talk.given_order(m.buyer, m.symbol, shares + more, limit + 4);
  talk.given_executed(m.buyer, buy);
  talk.expect_open(m.buyer, buy, more, "an arriving order that is filled in part rests");
  talk.given_order(m.seller, m.symbol, -more, limit);
  talk.expect_executed(m.buyer, buy, shares + more, "and is executed against later orders");
}

void price_of_resting(Talk& talk) {
  const Quarters limit = talk.any_price(), better = talk.between(1, 30);
  const std::int64_t shares = talk.any_shares();
  for (const bool sell_rests : {true, false}) {
    Market m(talk, shares, limit + better);
    const Quarters buy_limit = limit + better, sell_limit = limit;
    std::string buy, sell;
    if (!sell_rests) buy = talk.given_order(m.buyer, m.symbol, shares, buy_limit);
    sell = talk.given_order(m.seller, m.symbol, -shares, sell_limit);
    if (sell_rests) buy = talk.given_order(m.buyer, m.symbol, shares, buy_limit);
    const Quarters right = sell_rests ? sell_limit : buy_limit;
    for (const auto& [account, id] : {std::pair{m.buyer, buy}, {m.seller, sell}}) {
      const OrderState state = talk.given_executed(account, id);
      for (const Fill& fill : state.fills)
        expect(fill.price == right * units_per_quarter,
               "the price should be " + price(right) + ", that of the resting " +
                   (sell_rests ? "sell" : "buy") + ", not " + plain(fill.price));
    }
  }
}

// The course protocol's example.
void course_example(Talk& talk) {
  const std::string buyer = talk.given_account(4 * 1'000'000), seller = talk.given_account(4),
                    symbol = talk.given_symbol({{seller, 2'000}});
  const auto buy = [&](std::int64_t shares, Quarters whole) {
    return talk.given_order(buyer, symbol, shares, 4 * whole);
  };
  const auto sell = [&](std::int64_t shares, Quarters whole) {
    return talk.given_order(seller, symbol, -shares, 4 * whole);
  };
  const std::string first = buy(300, 125);
  sell(100, 130);
  const std::string second = buy(200, 127);
  sell(500, 128);
  sell(200, 140);
  const std::string third = buy(400, 125);
  const std::string last = sell(400, 124);
  talk.given_executed(seller, last);
  talk.expect_executed(buyer, second, 200, "200 @127 go first");
  talk.expect_executed(buyer, first, 200, "then 200 @125");
  talk.expect_open(buyer, first, 100, "the first order is left with 100");
  talk.expect_open(buyer, third, 400, "the later order at 125 is left alone");
  talk.expect_executed(seller, last, 400, "the sell is executed in full");
}

void difference_is_refunded(Talk& talk) {
  const Quarters limit = talk.any_price(), better = talk.between(4, 30);
  const std::int64_t shares = talk.any_shares();
  Market m(talk, shares + 1, limit);
  const std::string cheap = talk.given_symbol({{m.seller, 1}});
  talk.given_order(m.seller, m.symbol, -shares, limit - better / 2);
  const std::string buyer = talk.given_account(shares * limit);
  talk.given_refused(buyer, cheap, 1, shares * limit + 1);
  const std::string buy = talk.given_order(buyer, m.symbol, shares, limit);
  const OrderState state = talk.given_status(buyer, buy);
  if (state.executed() != shares * units_per_share)
    throw Blocked("the order was not executed", "M3");
  const Quarters left = shares * limit - cost(state);
  if (left <= 0) throw Blocked("nothing was executed below the buyer's limit", "M6");
  talk.expect_refused(buyer, cheap, 1, left + 1, "a buy for more than the difference");
  talk.expect_opened(buyer, cheap, 1, left,
                     "a buy for the difference between limit and price, " + price(left));
}

void seller_is_credited(Talk& talk) {
  const Quarters limit = talk.any_price();
  const std::int64_t shares = talk.any_shares();
  Market m(talk, shares, limit);
  const std::string other = talk.given_symbol({{m.buyer, 1}});
  talk.given_order(m.buyer, m.symbol, shares, limit);
  talk.given_refused(m.seller, other, 1, shares * limit);
  const std::string sell = talk.given_order(m.seller, m.symbol, -shares, limit - 4);
  const Quarters cash = Market::seller_cash + cost(talk.given_executed(m.seller, sell));
  talk.expect_refused(m.seller, other, 1, cash + 1, "a buy for more than the seller has got");
  talk.expect_opened(m.seller, other, 1, cash,
                     "a buy for what the seller had and got, " + price(cash));
}

void both_sides(Talk& talk) {
  const Quarters limit = talk.any_price();
  const std::int64_t shares = talk.any_shares();
  Market m(talk, shares, limit + 4);
  talk.given_refused(m.buyer, m.symbol, -shares, limit + 40);
  const std::string sell = talk.given_order(m.seller, m.symbol, -shares, limit);
  const std::string buy = talk.given_order(m.buyer, m.symbol, shares, limit + 4);
  const OrderState bought = talk.given_status(m.buyer, buy),
                   sold = talk.given_status(m.seller, sell);
  if (bought.fills.empty() && sold.fills.empty())
    throw Blocked("the orders were not executed", "M3");
  const auto same = [](const Fill& a, const Fill& b) {
    return a.shares == b.shares && a.price == b.price;
  };
  expect(std::equal(bought.fills.begin(), bought.fills.end(), sold.fills.begin(), sold.fills.end(),
                    same),
         "both orders should show the same execution");
  talk.expect_opened(m.buyer, m.symbol, -shares, limit + 40, "a sell of the shares just bought");
}

void cancel_returns_cash(Talk& talk) {
  const Quarters limit = talk.any_price();
  const std::string account = talk.given_account(10 * limit);
  const std::string symbol = talk.given_symbol({{account, 1}});
  const std::string id = talk.given_order(account, symbol, 10, limit);
  talk.given_refused(account, symbol, 1, limit);
  talk.given_canceled(account, id);
  talk.expect_opened(account, symbol, 10, limit, "a buy for all the cash, after the cancel");
}

void cancel_returns_shares(Talk& talk) {
  const std::int64_t shares = talk.any_shares();
  const std::string account = talk.given_account(4),
                    symbol = talk.given_symbol({{account, shares}});
  const std::string id = talk.given_order(account, symbol, -shares, 400);
  talk.given_refused(account, symbol, -1, 404);
  talk.given_canceled(account, id);
  talk.expect_opened(account, symbol, -shares, 404, "a sell of all shares, after the cancel");
}

void canceled_rest_returns(Talk& talk) {
  const Quarters limit = talk.any_price();
  const std::int64_t shares = talk.any_shares(), more = talk.any_shares();
  Market m(talk, shares, limit);
  const std::string buyer = talk.given_account((shares + more) * limit);
  const std::string other = talk.given_symbol({{m.seller, 1}});
  const std::string id = talk.given_order(buyer, m.symbol, shares + more, limit);
  talk.given_refused(buyer, other, 1, limit);
  talk.given_order(m.seller, m.symbol, -shares, limit - 4);
  const OrderState state = talk.given_status(buyer, id);
  if (state.executed() != shares * units_per_share)
    throw Blocked("the order was not executed in part", "M3");
  talk.given_canceled(buyer, id);
  talk.expect_opened(buyer, other, more, limit, "a buy for the cash of the part that was canceled");
}

void canceled_is_not_executed(Talk& talk) {
  const Quarters limit = talk.any_price();
  const std::int64_t shares = talk.any_shares();
  Market m(talk, shares, limit + 4);
  const std::string id = talk.given_order(m.seller, m.symbol, -shares, limit);
  talk.given_status(m.seller, id);
  talk.cancel(m.seller, id);
  const std::string buy = talk.given_order(m.buyer, m.symbol, shares, limit + 4);
  talk.expect_executed(m.buyer, buy, 0, "a canceled order is not open");
}

void with_itself(Talk& talk) {
  const std::int64_t shares = talk.any_shares();
  const std::string account = talk.given_account(shares * 400);
  const std::string symbol = talk.given_symbol({{account, shares}});
  const std::string sell = talk.given_order(account, symbol, -shares, 396);
  talk.given_order(account, symbol, shares, 400);
  talk.expect_executed(account, sell, shares, "orders of one account");
}

}  // namespace

void add_market_cases(Cases& cases) {
  cases.insert(cases.end(), {
                                {"M1", "a buy reserves cash", buy_reserves_cash},
                                {"M1", "a sell reserves shares", sell_reserves_shares},
                                {"M2", "a buy without the cash", refused_without_cash},
                                {"M2", "a sell without the shares", refused_without_shares},
                                {"M3", "prices that cross", prices_cross},
                                {"M3", "equal prices", prices_are_equal},
                                {"M3", "prices that do not cross", prices_do_not_cross},
                                {"M3", "orders of two symbols", symbols_are_apart},
                                {"T10", "a canceled order", canceled_is_not_executed},
                                {"M4", "the best price first", best_price_first},
                                {"M4", "the oldest first", oldest_first},
                                {"M4", "the example of the course", course_example},
                                {"M5", "a partly filled order keeps its place", keeps_its_place},
                                {"M5", "the rest of an arriving order", rest_stays_open},
                                {"M6", "the price of the resting order", price_of_resting},
                                {"M7", "the difference comes back", difference_is_refunded},
                                {"M8", "the seller is credited", seller_is_credited},
                                {"M9", "both sides of an execution", both_sides},
                                {"M10", "a cancel gives cash back", cancel_returns_cash},
                                {"M10", "a cancel gives shares back", cancel_returns_shares},
                                {"M10", "a cancel of a partly filled buy", canceled_rest_returns},
                                {"M11", "orders of one account", with_itself},
                            });
}

}  // namespace exchange::conformance
