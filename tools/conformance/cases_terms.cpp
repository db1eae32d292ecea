#include "tools/conformance/cases.hpp"

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

std::string opened(const Element& answer, const std::string& why) {
  expect(answer.name == "opened", why + ": <opened> was expected, got " + answer.print());
  return answer.attribute("id");
}
void refused(const Element& answer, const std::string& why) {
  expect(answer.name == "error", why + ": <error> was expected, got " + answer.print());
}

void words(Talk& talk) {
  const Book book(talk);
  opened(book.buy(talk, 1, 4, "tif=\"gtc\""), "gtc");
  for (const char* const word : {"day", "", "IOC", "gtc "})
    refused(book.buy(talk, 1, 4, "tif=\"" + std::string(word) + "\""),
            "tif '" + std::string(word) + "'");
}

void immediate_or_cancel(Talk& talk) {
  const Book book(talk);
  const std::string id =
      opened(book.buy(talk, 2 * book.shares, book.limit, "tif=\"ioc\""), "an ioc order");
  const OrderState state = talk.status(book.buyer, id);
  expect(!state.open && state.canceled == book.shares * units_per_share &&
             state.executed() == book.shares * units_per_share,
         "half of an ioc order should be executed, and half canceled");
  talk.expect_executed(book.seller, book.second, 0, "an order beyond the limit");
}

void fill_or_kill(Talk& talk) {
  const Book book(talk);
  refused(book.buy(talk, book.shares + 1, book.limit, "tif=\"fok\""),
          "a fok order of more shares than there are");
  talk.expect_executed(book.seller, book.first, 0, "a fok order that was refused");
  const std::string id =
      opened(book.buy(talk, 2 * book.shares, book.limit + 4, "tif=\"fok\""), "a fok order");
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
  const std::string id =
      opened(book.buy(talk, 1, book.limit - 1, "post=\"true\""), "an order that would rest");
  talk.expect_open(book.buyer, id, 1, "a post order");
  opened(book.buy(talk, 1, book.limit, "post=\"false\""), "post=\"false\"");
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
  opened(sell(" tif=\"fok\""), "a fok order that an order of the same account fills");
  talk.expect_open(book.buyer, rests, 3, "the order that filled it");
}

void sent_again(Talk& talk) {
  const Book book(talk);
  refused(book.buy(talk, book.shares + 1, book.limit, "tif=\"fok\" ref=\"x\""), "a fok order");
  const std::string id =
      opened(book.buy(talk, book.shares, book.limit, "tif=\"fok\" ref=\"x\""), "a fok order");
  const Element again = book.buy(talk, book.shares, book.limit, "tif=\"ioc\" ref=\"x\"");
  expect(opened(again, "the order again") == id, "the first id was expected, got " + again.print());
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
                            });
}

}  // namespace exchange::conformance
