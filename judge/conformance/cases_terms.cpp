#include "judge/conformance/cases.hpp"

namespace exchange::conformance {
namespace {

// A seller's two orders at two prices, and a buyer with cash for twice as many shares.
struct Book {
  explicit Book(Talk& talk)
      : shares(talk.any_shares()),
        limit(talk.any_price()),
        seller(talk.given_account(4)),
        buyer(talk.given_account(4 * shares * (limit + 8))),
        symbol(talk.given_symbol({{seller, 2 * shares}})) {
    first = talk.given_order(seller, symbol, -shares, limit);
    second = talk.given_order(seller, symbol, -shares, limit + 4);
  }
  // The reply to an order of the buyer's.
  Element buy(Talk& talk, std::int64_t amount, Quarters at, const std::string& terms) const {
    return talk.ask_one(Talk::transactions(
        buyer, Talk::order(symbol, std::to_string(amount), price(at), " " + terms)));
  }
  std::int64_t shares;
  Quarters limit;
  std::string seller, buyer, symbol, first, second;
};

void refused(const Element& answer, const std::string& why) {
  expect(answer.name == "error", why + ": <error> was expected, got " + answer.print());
}

// Of an order that does not rest: what was executed and canceled of it, in whole shares.
void expect_ended(Talk& talk, const std::string& account, const std::string& id,
                  std::int64_t executed, std::int64_t canceled, const std::string& why) {
  const OrderState state = talk.status(account, id);
  expect(!state.open && state.executed() == executed * units_per_share &&
             state.canceled == canceled * units_per_share,
         why);
}

void words(Talk& talk) {
  const Book book(talk);
  Talk::opened_id(book.buy(talk, 1, 4, "tif=\"gtc\""), "gtc");
  for (const char* const word : {"day", "", "IOC", "gtc "})
    refused(book.buy(talk, 1, 4, "tif=\"" + std::string(word) + "\""),
            "tif '" + std::string(word) + "'");
}

void immediate_or_cancel(Talk& talk) {
  const Book book(talk);
  const std::string id =
      Talk::opened_id(book.buy(talk, 2 * book.shares, book.limit, "tif=\"ioc\""), "an ioc order");
  expect_ended(talk, book.buyer, id, book.shares, book.shares,
               "half of an ioc order should be executed, and half canceled");
  talk.expect_executed(book.seller, book.second, 0, "an order beyond the limit");
}

void fill_or_kill(Talk& talk) {
  const Book book(talk);
  refused(book.buy(talk, book.shares + 1, book.limit, "tif=\"fok\""),
          "a fok order of more shares than there are");
  talk.expect_executed(book.seller, book.first, 0, "a fok order that was refused");
  const std::string id = Talk::opened_id(
      book.buy(talk, 2 * book.shares, book.limit + 4, "tif=\"fok\""), "a fok order");
  talk.expect_executed(book.buyer, id, 2 * book.shares, "a fok order over two prices");
}

void affordable(Talk& talk) {
  const Book book(talk);
  for (const char* const terms : {"tif=\"ioc\"", "tif=\"fok\""})
    refused(book.buy(talk, 1'000 * book.shares, book.limit + 8, terms),
            "more than the buyer's cash");
}

void post_only(Talk& talk) {
  const Book book(talk);
  refused(book.buy(talk, 1, book.limit, "post=\"true\""), "an order that would execute");
  talk.expect_executed(book.seller, book.first, 0, "a post order that was refused");
  const std::string id = Talk::opened_id(book.buy(talk, 1, book.limit - 1, "post=\"true\""),
                                         "an order that would rest");
  talk.expect_open(book.buyer, id, 1, "a post order");
  Talk::opened_id(book.buy(talk, 1, book.limit, "post=\"false\""), "post=\"false\"");
  refused(book.buy(talk, 1, 4, "post=\"yes\""), "post=\"yes\"");
}

void both(Talk& talk) {
  const Book book(talk);
  for (const char* const word : {"ioc", "fok"})
    refused(book.buy(talk, 1, 4, "post=\"true\" tif=\"" + std::string(word) + "\""),
            "post with tif " + std::string(word));
}

void of_the_same_account(Talk& talk) {
  const Book book(talk);
  const std::string rests = talk.given_order(book.buyer, book.symbol, 5, book.limit - 4);
  talk.given_order(book.buyer, book.symbol, 2, book.limit);
  const auto sell = [&](const char* terms) {
    return talk.ask_one(Talk::transactions(
        book.buyer, Talk::order(book.symbol, "-2", price(book.limit - 4), terms)));
  };
  refused(sell(" post=\"true\""), "a post order that an order of the same account meets");
  Talk::opened_id(sell(" tif=\"fok\""), "a fok order that an order of the same account fills");
  talk.expect_open(book.buyer, rests, 3, "the order that filled it");
}

void sent_again(Talk& talk) {
  const Book book(talk);
  refused(book.buy(talk, book.shares + 1, book.limit, "tif=\"fok\" ref=\"x\""), "a fok order");
  const std::string id = Talk::opened_id(
      book.buy(talk, book.shares, book.limit, "tif=\"fok\" ref=\"x\""), "a fok order");
  const Element again = book.buy(talk, book.shares, book.limit, "tif=\"ioc\" ref=\"x\"");
  expect(Talk::opened_id(again, "the order again") == id,
         "the first id was expected, got " + again.print());
}

// Blocks the case if not even plain orders match.
void given_matching(Talk& talk) {
  const Quarters limit = talk.any_price();
  const std::string seller = talk.given_account(4), buyer = talk.given_account(limit),
                    symbol = talk.given_symbol({{seller, 1}});
  talk.given_order(seller, symbol, -1, limit);
  talk.given_executed(buyer, talk.given_order(buyer, symbol, 1, limit));
}

// Blocks the case if a reference does not stand for its order.
void given_reference(const Book& book, Talk& talk, const std::string& reference) try {
  const std::string terms = "ref=\"" + reference + "\"",
                    id = Talk::opened_id(book.buy(talk, 1, 4, terms), "an order"),
                    again = Talk::opened_id(book.buy(talk, 1, 4, terms), "the order again");
  expect(id == again, "an order with a reference should get its first id again");
} catch (const Broken& error) {
  throw Blocked(error.what(), "O2");
}

Element ask_market(Talk& talk, const std::string& account, const std::string& symbol,
                   std::int64_t amount, const std::string& more = "") {
  return talk.ask_one(Talk::transactions(account, "<order sym=\"" + symbol + "\" amount=\"" +
                                                      std::to_string(amount) +
                                                      "\" type=\"market\"" + more + "/>"));
}

void types(Talk& talk) {
  const Book book(talk);
  Talk::opened_id(book.buy(talk, 1, 4, "type=\"limit\""), "type=\"limit\"");
  refused(book.buy(talk, 1, 4, "type=\"market\""), "a market order with a limit");
  refused(book.buy(talk, 1, 4, "type=\"stop\""), "type=\"stop\"");
  for (const char* const more : {" tif=\"gtc\"", " tif=\"fok\"", " post=\"true\""})
    refused(ask_market(talk, book.buyer, book.symbol, 1, more),
            std::string("a market order with") + more);
  Talk::opened_id(ask_market(talk, book.buyer, book.symbol, 1, " tif=\"ioc\""), "a market order");
}

void market(Talk& talk) {
  given_matching(talk);
  const Book book(talk);
  const std::string id =
      Talk::opened_id(ask_market(talk, book.buyer, book.symbol, 3 * book.shares), "a market order");
  expect_ended(talk, book.buyer, id, 2 * book.shares, book.shares,
               "a market order should be executed at both prices, and the rest be canceled");
}

void market_sell(Talk& talk) {
  given_matching(talk);
  const std::int64_t shares = talk.any_shares();
  const Quarters limit = talk.any_price();
  const std::string buyer = talk.given_account(shares * (limit + 1)),
                    seller = talk.given_account(4),
                    symbol = talk.given_symbol({{seller, 3 * shares}});
  talk.given_order(buyer, symbol, shares, 1);
  talk.given_order(buyer, symbol, shares, limit);
  const std::string id =
      Talk::opened_id(ask_market(talk, seller, symbol, -3 * shares), "a market order");
  const OrderState state = talk.status(seller, id);
  expect(!state.open && state.canceled == shares * units_per_share && state.fills.size() == 2 &&
             state.executed() == 2 * shares * units_per_share &&
             state.fills[0].price == limit * units_per_quarter,
         "a market sell should be executed at the best price first, and the rest be canceled");
  talk.expect_opened(seller, symbol, -shares, limit, "a sell of the shares that were canceled");
}

void market_without_cash(Talk& talk) {
  given_matching(talk);
  const Quarters limit = 2 * talk.any_price();
  const std::string seller = talk.given_account(4), buyer = talk.given_account(limit / 2 * 5),
                    symbol = talk.given_symbol({{seller, 10}});
  talk.given_order(seller, symbol, -10, limit);
  talk.given_refused(seller, symbol, -1, limit);
  talk.given_refused(buyer, symbol, 10, limit - 1);
  refused(ask_market(talk, seller, symbol, -1), "a market sell of more shares than there are");
  const std::string id = Talk::opened_id(ask_market(talk, buyer, symbol, 10), "a market buy");
  const OrderState state = talk.status(buyer, id);
  expect(state.executed() == units_per_share / 2 * 5 && state.canceled == units_per_share / 2 * 15,
         "a market buy with cash for 2.5 shares should execute these");
  talk.expect_refused(buyer, symbol, 1, 1, "a buy after all cash was spent");
}

void market_cash_at_two_prices(Talk& talk) {
  given_matching(talk);
  const Quarters limit = talk.any_price();
  const std::string seller = talk.given_account(4), buyer = talk.given_account(5 * limit),
                    symbol = talk.given_symbol({{seller, 12}});
  talk.given_order(seller, symbol, -2, limit);
  const std::string dear = talk.given_order(seller, symbol, -10, 2 * limit);
  talk.given_refused(buyer, symbol, 10, limit - 1);
  const std::string id = Talk::opened_id(ask_market(talk, buyer, symbol, 10), "a market buy");
  const OrderState state = talk.status(buyer, id);
  expect(state.fills.size() == 2 && state.fills[0].shares == 2 * units_per_share &&
             state.fills[1].shares == units_per_share / 2 * 3 &&
             state.canceled == units_per_share / 2 * 13,
         "cash for 2 shares and 1.5 at the double price should buy these");
  expect(talk.status(seller, dear).open == units_per_share / 2 * 17,
         "8.5 shares of the dear order should be open");
  talk.expect_refused(buyer, symbol, 1, 1, "a buy after all cash was spent");
}

// What the account pays comes back to it: only the rule ends the order.
void last_execution(Talk& talk) {
  const Quarters limit = talk.any_price();
  const std::string trader = talk.given_account(2 * limit),
                    symbol = talk.given_symbol({{trader, 8}});
  talk.given_order(trader, symbol, -1, limit);
  talk.given_executed(trader, talk.given_order(trader, symbol, 1, limit));
  talk.given_order(trader, symbol, -4, limit);
  talk.given_order(trader, symbol, -4, limit);
  const std::string id = Talk::opened_id(ask_market(talk, trader, symbol, 8), "a market buy");
  expect_ended(talk, trader, id, 2, 6,
               "the execution that cash limits should be the last of a market buy");
}

void market_sent_again(Talk& talk) {
  const Book book(talk);
  given_reference(book, talk, "limit");
  const std::string id =
      Talk::opened_id(ask_market(talk, book.buyer, book.symbol, 1, " ref=\"x\""), "a market order");
  const Element again = ask_market(talk, book.buyer, book.symbol, 1, " ref=\"x\"");
  expect(Talk::opened_id(again, "the order again") == id,
         "the first id was expected, got " + again.print());
  refused(book.buy(talk, 1, book.limit, "ref=\"x\""), "an order with a limit and this reference");
  refused(ask_market(talk, book.buyer, book.symbol, 1, " ref=\"limit\""),
          "a market order with the reference of one with a limit");
  talk.expect_executed(book.buyer, id, 1, "a market order that was sent again");
}

void values_of_stp(Talk& talk) {
  const Book book(talk);
  Talk::opened_id(book.buy(talk, 1, 4, "stp=\"none\""), "stp=\"none\"");
  for (const char* const word : {"both", "", "true"})
    refused(book.buy(talk, 1, 4, "stp=\"" + std::string(word) + "\""),
            "stp '" + std::string(word) + "'");
}

void resting_stp(Talk& talk) {
  const Quarters limit = talk.any_price();
  const std::string trader = talk.given_account(4 * limit),
                    symbol = talk.given_symbol({{trader, 2}});
  talk.given_order(trader, symbol, -1, limit);
  talk.given_executed(trader, talk.given_order(trader, symbol, 1, limit));
  const auto ask = [&](const char* amount, const char* stp) {
    return Talk::opened_id(
        talk.ask_one(Talk::transactions(trader, Talk::order(symbol, amount, price(limit),
                                                            " stp=\"" + std::string(stp) + "\""))),
        "an order with stp");
  };
  const std::string rests = ask("-2", "cancel-resting");
  const std::string id = talk.expect_opened(trader, symbol, 1, limit, "an order without stp");
  talk.expect_executed(trader, id, 1, "an order without stp that meets one of its account");
  talk.expect_open(trader, rests, 1, "a resting order with stp");
  const std::string ends = ask("1", "cancel-taking");
  talk.expect_executed(trader, ends, 0, "an order with stp that meets one of its account");
}

// Another account's sell between two of the trader's, all of five shares at one price.
struct OwnOrders {
  explicit OwnOrders(Talk& talk)
      : limit(talk.any_price()),
        trader(talk.given_account(100 * limit)),
        other(talk.given_account(4)),
        symbol(talk.given_symbol({{trader, 10}, {other, 5}})) {
    given_matching(talk);
    first = talk.given_order(trader, symbol, -5, limit);
    between = talk.given_order(other, symbol, -5, limit);
    last = talk.given_order(trader, symbol, -5, limit);
  }
  Element buy(Talk& talk, std::int64_t amount, const std::string& terms) const {
    return talk.ask_one(Talk::transactions(
        trader, Talk::order(symbol, std::to_string(amount), price(limit), " " + terms)));
  }
  Quarters limit;
  std::string trader, other, symbol, first, between, last;
};

void cancel_resting(Talk& talk) {
  const OwnOrders orders(talk);
  const std::string id =
      Talk::opened_id(orders.buy(talk, 7, "stp=\"cancel-resting\""), "an order with stp");
  talk.expect_executed(orders.other, orders.between, 5, "the order of another account");
  for (const std::string& own : {orders.first, orders.last}) {
    const OrderState state = talk.status(orders.trader, own);
    expect(state.canceled == 5 * units_per_share && state.fills.empty(),
           "a resting order of the account should be canceled");
  }
  talk.expect_open(orders.trader, id, 2, "what is left of the order");
}

void behind_the_last_execution(Talk& talk) {
  const OwnOrders orders(talk);
  talk.given_refused(orders.trader, orders.symbol, -1, orders.limit + 4);
  const std::string id =
      Talk::opened_id(orders.buy(talk, 5, "stp=\"cancel-resting\""), "an order with stp");
  talk.expect_executed(orders.trader, id, 5, "an order that another account fills");
  talk.expect_open(orders.trader, orders.last, 5, "the account's order behind it");
  talk.expect_refused(orders.trader, orders.symbol, -11, orders.limit + 4,
                      "more than the shares that were bought and canceled");
  talk.expect_opened(orders.trader, orders.symbol, -10, orders.limit + 4,
                     "the shares that were bought and canceled");
}

void market_cancel_resting(Talk& talk) {
  const OwnOrders orders(talk);
  const std::string id =
      Talk::opened_id(ask_market(talk, orders.trader, orders.symbol, 7, " stp=\"cancel-resting\""),
                      "a market order with stp");
  expect_ended(talk, orders.trader, id, 5, 2,
               "a market order should be executed by the other account, and the rest be canceled");
  for (const std::string& own : {orders.first, orders.last})
    expect(talk.status(orders.trader, own).canceled == 5 * units_per_share,
           "a resting order of the account should be canceled");
}

void cancel_taking(Talk& talk) {
  const OwnOrders orders(talk);
  talk.given_canceled(orders.trader, orders.first);
  talk.given_refused(orders.trader, orders.symbol, 200, orders.limit - 1);
  const std::string id =
      Talk::opened_id(orders.buy(talk, 7, "stp=\"cancel-taking\""), "an order with stp");
  expect_ended(talk, orders.trader, id, 5, 2,
               "the order should end before that of its own account");
  talk.expect_open(orders.trader, orders.last, 5, "the account's resting order");
  talk.expect_refused(orders.trader, orders.symbol, 95 * orders.limit + 1, 1,
                      "a buy for more than the cash that was not spent");
  talk.expect_opened(orders.trader, orders.symbol, 95 * orders.limit, 1,
                     "a buy for all cash that was not spent");
}

void market_cancel_taking(Talk& talk) {
  const OwnOrders orders(talk);
  talk.given_canceled(orders.trader, orders.first);
  const std::string id =
      Talk::opened_id(ask_market(talk, orders.trader, orders.symbol, 7, " stp=\"cancel-taking\""),
                      "a market order with stp");
  expect_ended(talk, orders.trader, id, 5, 2,
               "the order should end before that of its own account");
  talk.expect_open(orders.trader, orders.last, 5, "the account's resting order");
}

void fok_with_stp(Talk& talk) {
  const OwnOrders orders(talk);
  refused(orders.buy(talk, 6, "tif=\"fok\" stp=\"cancel-resting\""),
          "a fok order of more shares than other accounts sell");
  refused(orders.buy(talk, 1, "tif=\"fok\" stp=\"cancel-taking\""),
          "a fok order behind one of its own account");
  refused(orders.buy(talk, 1, "post=\"true\" stp=\"cancel-resting\""),
          "a post order that an order of the same account meets");
  talk.expect_open(orders.trader, orders.first, 5, "an order that a refused one would meet");
  const std::string id =
      Talk::opened_id(orders.buy(talk, 5, "tif=\"fok\" stp=\"cancel-resting\""), "a fok order");
  talk.expect_executed(orders.trader, id, 5, "a fok order that other accounts fill");
}

void fok_before_own(Talk& talk) {
  const OwnOrders orders(talk);
  talk.given_canceled(orders.trader, orders.first);
  refused(orders.buy(talk, 6, "tif=\"fok\" stp=\"cancel-taking\""),
          "a fok order of more shares than there are before one of its account");
  const std::string id =
      Talk::opened_id(orders.buy(talk, 5, "tif=\"fok\" stp=\"cancel-taking\""), "a fok order");
  talk.expect_executed(orders.trader, id, 5, "a fok order that ends before its account's");
  talk.expect_open(orders.trader, orders.last, 5, "the account's order behind it");
}

}  // namespace

void add_term_cases(Cases& cases) {
  cases.insert(cases.end(), {
                                {"E1", "values of tif", words},
                                {"E2", "an ioc order", immediate_or_cancel},
                                {"E3", "a fok order", fill_or_kill},
                                {"E4", "orders that are too dear", affordable},
                                {"E5", "a post order", post_only},
                                {"E6", "post with ioc and fok", both},
                                {"E7", "orders of the same account", of_the_same_account},
                                {"E8", "terms and references", sent_again},
                                {"E9", "values of type", types},
                                {"E10", "a market order", market},
                                {"E10", "a market sell", market_sell},
                                {"E11", "a market buy that cash limits", market_without_cash},
                                {"E11", "cash at two prices", market_cash_at_two_prices},
                                {"E11", "the last execution", last_execution},
                                {"E12", "market orders and references", market_sent_again},
                                {"E13", "values of stp", values_of_stp},
                                {"E13", "the stp of a resting order", resting_stp},
                                {"E14", "cancel-resting", cancel_resting},
                                {"E14", "behind the last execution", behind_the_last_execution},
                                {"E14", "cancel-resting by a market order", market_cancel_resting},
                                {"E15", "cancel-taking", cancel_taking},
                                {"E15", "cancel-taking of a market order", market_cancel_taking},
                                {"E16", "fok orders with stp", fok_with_stp},
                                {"E16", "a fok order before its account's", fok_before_own},
                            });
}

}  // namespace exchange::conformance
