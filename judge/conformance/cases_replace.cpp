// Replaces of open orders.

#include <chrono>
#include <cstdlib>
#include <thread>

#include "judge/conformance/cases.hpp"

namespace exchange::conformance {
namespace {

std::string by_id(const std::string& id) { return " id=\"" + id + "\""; }
std::string by_reference(const std::string& reference) { return " ref=\"" + reference + "\""; }

Element ask_replace(Talk& talk, const std::string& account, const std::string& order,
                    const std::string& amount, const std::string& limit,
                    const std::string& more = "") {
  return talk.ask_one(Talk::transactions(account, "<replace" + order + " amount=\"" + amount +
                                                      "\" limit=\"" + limit + "\"" + more + "/>"));
}
Element ask_replace(Talk& talk, const std::string& account, const std::string& order,
                    std::int64_t amount, Quarters limit, const std::string& more = "") {
  return ask_replace(talk, account, order, std::to_string(amount), price(limit), more);
}

void expect_replaced(const Element& answer, const std::string& id, const std::string& why) {
  expect(answer.name == "replaced", why + ": <replaced> was expected, got " + answer.print());
  expect(answer.attribute("id") == id,
         why + ": the id " + id + " was expected, got " + answer.print());
}
void refused(const Element& answer, const std::string& why) {
  expect(answer.name == "error", why + ": <error> was expected, got " + answer.print());
}

// Two sellers with an order each at one price, the first one's first, and a buyer.
struct Book {
  explicit Book(Talk& talk)
      : shares(talk.any_shares()),
        limit(talk.any_price()),
        first(talk.given_account(4)),
        second(talk.given_account(4)),
        buyer(talk.given_account(4 * shares * (limit + 8))),
        symbol(talk.given_symbol({{first, 3 * shares}, {second, 3 * shares}})) {
    // else the cases of a server whose orders do not match would show other rules
    talk.given_order(second, symbol, -1, limit);
    talk.given_executed(buyer, talk.given_order(buyer, symbol, 1, limit));
    order_of_first = talk.given_order(first, symbol, -shares, limit);
    order_of_second = talk.given_order(second, symbol, -shares, limit);
  }
  void replace_first(Talk& talk, std::int64_t amount, Quarters at, const std::string& why) const {
    expect_replaced(ask_replace(talk, first, by_id(order_of_first), amount, at), order_of_first,
                    why);
  }
  void buy(Talk& talk, std::int64_t amount) const {
    talk.given_order(buyer, symbol, amount, limit);
  }
  std::int64_t shares;
  Quarters limit;
  std::string first, second, buyer, symbol, order_of_first, order_of_second;
};

void goes_on(Talk& talk) {
  const Book book(talk);
  const std::string reference = "r." + std::to_string(talk.between(1, 1'000'000));
  const std::string id =
      Talk::opened_id(talk.ask_one(Talk::transactions(
                          book.first, Talk::order(book.symbol, std::to_string(-book.shares),
                                                  price(book.limit - 1), by_reference(reference)))),
                      "an order with a reference");
  book.buy(talk, 1);
  const Quarters dear = book.limit + 4;
  expect_replaced(ask_replace(talk, book.first, by_reference(reference), -book.shares - 1, dear),
                  id, "a replace by reference");
  expect_replaced(ask_replace(talk, book.first, by_id("00" + id), -book.shares, dear), id,
                  "a replace by id, with zeros in front");
  const OrderState state = talk.status(book.first, id);
  expect(state.fills.size() == 1 && state.executed() == units_per_share &&
             state.open == (book.shares - 1) * units_per_share,
         "a replaced order should have the executions from before, and the rest open");
}

void not_open(Talk& talk) {
  const Book book(talk);
  book.replace_first(talk, -book.shares, book.limit, "a replace that changes nothing");
  refused(ask_replace(talk, book.second, by_id(book.order_of_first), -1, book.limit),
          "another account's order");
  refused(ask_replace(talk, book.first, by_reference("unknown"), -1, book.limit),
          "a reference that was not used");
  refused(ask_replace(talk, book.first, by_id(book.order_of_first) + by_reference("unknown"), -1,
                      book.limit),
          "id and ref");
  refused(ask_replace(talk, book.first, "", -1, book.limit), "neither id nor ref");
  talk.expect_open(book.first, book.order_of_first, book.shares, "after refused replaces");
  talk.given_canceled(book.first, book.order_of_first);
  refused(ask_replace(talk, book.first, by_id(book.order_of_first), -book.shares, book.limit),
          "a canceled order");
  book.buy(talk, book.shares);
  refused(ask_replace(talk, book.second, by_id(book.order_of_second), -2 * book.shares, book.limit),
          "an executed order");
}

void whole_amount(Talk& talk) {
  const Book book(talk);
  book.buy(talk, 1);
  const auto ask = [&](const std::string& amount) {
    return ask_replace(talk, book.first, by_id(book.order_of_first), amount, price(book.limit));
  };
  book.replace_first(talk, -book.shares - 2, book.limit, "a larger amount");
  talk.expect_open(book.first, book.order_of_first, book.shares + 1, "one share was executed");
  refused(ask(std::to_string(book.shares + 2)), "an amount of the other side");
  for (const char* const amount : {"-1", "-0.5", "0"})
    refused(ask(amount), "an amount of " + std::string(amount) + ", with 1 executed");
  talk.expect_open(book.first, book.order_of_first, book.shares + 1, "after refused replaces");
}

void reserved_cash(Talk& talk) {
  const std::int64_t shares = talk.any_shares();
  const Quarters limit = talk.any_price();
  const std::string account = talk.given_account(2 * shares * limit),
                    symbol = talk.given_symbol({{talk.given_account(4), 1}}),
                    id = talk.given_order(account, symbol, shares, limit);
  talk.given_refused(account, symbol, shares, limit + 1);
  const auto ask = [&](std::int64_t amount, Quarters at) {
    return ask_replace(talk, account, by_id(id), amount, at);
  };
  expect_replaced(ask(2 * shares, limit), id, "a replace for all cash");
  refused(ask(2 * shares, limit + 1), "a replace for more than all cash");
  refused(ask(2 * shares + 1, limit), "a replace for more than all cash");
  talk.expect_open(account, id, 2 * shares, "an order whose replace was refused");
  talk.expect_refused(account, symbol, 1, 1, "a buy while all cash is reserved");
  expect_replaced(ask(shares, 2 * limit), id, "a replace for all cash");
  talk.expect_refused(account, symbol, 1, 1, "a buy while all cash is reserved");
  expect_replaced(ask(shares, limit), id, "a replace for half of the cash");
  talk.expect_opened(account, symbol, shares, limit, "a buy for the cash that is free again");
}

void reserved_shares(Talk& talk) {
  const std::int64_t shares = talk.any_shares();
  const Quarters limit = talk.any_price();
  const std::string account = talk.given_account(4),
                    symbol = talk.given_symbol({{account, 2 * shares}}),
                    id = talk.given_order(account, symbol, -shares, limit);
  talk.given_refused(account, symbol, -shares - 1, limit);
  const auto ask = [&](std::int64_t amount, Quarters at) {
    return ask_replace(talk, account, by_id(id), amount, at);
  };
  expect_replaced(ask(-2 * shares, limit), id, "a replace for all shares");
  refused(ask(-2 * shares - 1, limit), "a replace for more shares than there are");
  talk.expect_open(account, id, 2 * shares, "an order whose replace was refused");
  talk.expect_refused(account, symbol, -1, limit, "a sell while all shares are reserved");
  expect_replaced(ask(-shares, limit + 1), id, "a replace for half of the shares");
  talk.expect_opened(account, symbol, -shares, limit, "a sell of the shares that are free again");
}

void keeps_place(Talk& talk) {
  const Book book(talk);
  book.replace_first(talk, -book.shares, book.limit, "the same amount and limit");
  book.replace_first(talk, -book.shares + 1, book.limit, "a smaller amount");
  book.buy(talk, book.shares - 1);
  talk.expect_executed(book.first, book.order_of_first, book.shares - 1,
                       "an order with a smaller amount keeps its place");
  talk.expect_executed(book.second, book.order_of_second, 0, "the order behind it");
}

void keeps_place_after_refusal(Talk& talk) {
  const Book book(talk);
  book.replace_first(talk, -book.shares, book.limit, "the same amount and limit");
  refused(ask_replace(talk, book.first, by_id(book.order_of_first), -4 * book.shares, book.limit),
          "a replace for more shares than there are");
  book.buy(talk, book.shares);
  talk.expect_executed(book.first, book.order_of_first, book.shares,
                       "an order whose replace was refused keeps its place");
}

void loses_place(Talk& talk, std::int64_t more, Quarters away) {
  const Book book(talk);
  if (away != 0) book.replace_first(talk, -book.shares, book.limit + away, "another limit");
  book.replace_first(talk, -book.shares - more, book.limit, "the old limit");
  book.buy(talk, book.shares);
  talk.expect_executed(book.second, book.order_of_second, book.shares,
                       "the order that rests comes before one that arrived anew");
  talk.expect_open(book.first, book.order_of_first, book.shares + more,
                   "the order that arrived anew");
}
void larger_amount(Talk& talk) { loses_place(talk, 1, 0); }
void other_limit(Talk& talk) { loses_place(talk, 0, 4); }

void arrives_anew(Talk& talk) {
  const Book book(talk);
  const std::string id = talk.given_order(book.buyer, book.symbol, 1, book.limit - 4);
  expect_replaced(ask_replace(talk, book.buyer, by_id(id), 2 * book.shares + 1, book.limit + 1), id,
                  "a replace that is executed at once");
  const OrderState state = talk.status(book.buyer, id);
  expect(state.open == units_per_share && state.fills.size() == 2 &&
             state.executed() == 2 * book.shares * units_per_share,
         "an order that arrives anew should be executed as far as it can be, and rest");
  for (const Fill& fill : state.fills)
    expect(fill.price == book.limit * units_per_quarter,
           "the price should be that of the orders that were resting");
  // paid are these shares and the one before; one at the new limit is reserved
  const Quarters left =
      4 * book.shares * (book.limit + 8) - (2 * book.shares + 1) * book.limit - (book.limit + 1);
  talk.expect_refused(book.buyer, book.symbol, left + 1, 1, "a buy for more than what is left");
  talk.expect_opened(book.buyer, book.symbol, left, 1, "a buy for all that is left");
}

void no_terms(Talk& talk) {
  const Book book(talk);
  for (const char* const term :
       {" tif=\"gtc\"", " post=\"false\"", " type=\"limit\"", " stp=\"none\""})
    refused(ask_replace(talk, book.first, by_id(book.order_of_first), -1, book.limit, term),
            "a replace with" + std::string(term));
  talk.expect_open(book.first, book.order_of_first, book.shares, "after refused replaces");
  const std::string post =
      Talk::opened_id(talk.ask_one(Talk::transactions(
                          book.buyer, Talk::order(book.symbol, "1", price(1), " post=\"true\""))),
                      "a post order");
  expect_replaced(ask_replace(talk, book.buyer, by_id(post), 1, book.limit), post,
                  "a replace of a post order");
  talk.expect_executed(book.buyer, post, 1, "a post order that was replaced");
}

void sent_again(Talk& talk) {
  const Book book(talk);
  const auto send = [&](std::int64_t amount) {
    return talk.ask_one(Talk::transactions(
        book.buyer, Talk::order(book.symbol, std::to_string(amount), price(4), by_reference("a"))));
  };
  const std::string id = Talk::opened_id(send(1), "an order");
  expect_replaced(ask_replace(talk, book.buyer, by_reference("a"), 2, 4), id, "a larger amount");
  const Element again = send(1);
  expect(Talk::opened_id(again, "the first sending again") == id,
         "the first id was expected, got " + again.print());
  refused(send(2), "the reference with the amount of the replace");
  talk.expect_open(book.buyer, id, 2, "a replaced order that was sent again");
}

void as_old_as_its_place(Talk& talk) {
  const Book book(talk);
  const std::string older = talk.given_order(book.buyer, book.symbol, 2, 2),
                    newer = talk.given_order(book.buyer, book.symbol, 2, 2);
  const auto replace = [&](const std::string& id, std::int64_t amount) {
    expect_replaced(ask_replace(talk, book.buyer, by_id(id), amount, 2), id, "a replace");
  };
  replace(older, 3);
  replace(newer, 1);
  const std::vector<Element> answers =
      talk.ask(Talk::transactions(book.buyer, "<cancel all=\"true\"/>"));
  expect(answers.size() == 2 && answers[0].attribute("id") == newer &&
             answers[1].attribute("id") == older,
         "a cancel of all should begin with the order that has not lost its place");
}

void ends_with_its_connection(Talk& talk) {
  talk.need_persistent();
  const Book book(talk);
  const auto tied = [&](const std::string& inside) {
    return Talk::transactions(book.buyer, inside, " cancel-on-disconnect=\"true\"");
  };
  const std::string stays = talk.given_order(book.buyer, book.symbol, 1, 1),
                    ends = Talk::opened_id(
                        talk.ask_one(tied(Talk::order(book.symbol, "1", price(1)))), "an order");
  expect_replaced(talk.ask_one(tied("<replace id=\"" + stays + "\" amount=\"2\" limit=\"1\"/>")),
                  stays, "a replace");
  expect_replaced(ask_replace(talk, book.buyer, by_id(ends), 2, 1), ends, "a replace");
  talk.reconnect();
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                      std::chrono::duration<double>(talk.target().timeout_s()));
  while (talk.status(book.buyer, ends).open) {
    expect(Clock::now() < end, "a replaced order should end with the connection that opened it");
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  talk.expect_open(book.buyer, stays, 2, "an order that another request has opened");
}

void takes_numbers(Talk& talk) {
  const Book book(talk);
  const auto number = [&] {
    return std::strtoll(talk.given_order(book.buyer, book.symbol, 1, 1).c_str(), nullptr, 10);
  };
  const long long before = number();
  book.replace_first(talk, -book.shares, book.limit, "a replace that changes nothing");
  book.replace_first(talk, -book.shares, book.limit + 1, "another limit");
  expect(number() >= before + 3, "each replace should take a number of the transaction ids");
}

}  // namespace

void add_replace_cases(Cases& cases) {
  cases.insert(cases.end(),
               {
                   {"E26", "id, reference and executions", goes_on},
                   {"E26", "what is not open", not_open},
                   {"E27", "the whole amount", whole_amount},
                   {"E28", "reserved cash", reserved_cash},
                   {"E28", "reserved shares", reserved_shares},
                   {"E29", "a smaller amount", keeps_place},
                   {"E29", "a refused replace", keeps_place_after_refusal},
                   {"E29", "a larger amount", larger_amount},
                   {"E29", "another limit", other_limit},
                   {"E29", "a replace that is executed", arrives_anew},
                   {"E30", "terms of an order", no_terms},
                   {"E31", "the first sending", sent_again},
                   {"E31", "a cancel of all", as_old_as_its_place},
                   {"E31", "the connection that opened an order", ends_with_its_connection},
                   {"E32", "numbers of replaces", takes_numbers},
               });
}

}  // namespace exchange::conformance
