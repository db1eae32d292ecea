#include <set>

#include "judge/conformance/cases.hpp"

namespace exchange::conformance {
namespace {

std::string query(const std::string& id) { return "<query id=\"" + id + "\"/>"; }
std::string cancel(const std::string& id) { return "<cancel id=\"" + id + "\"/>"; }

void in_document_order(Talk& talk) {
  // shares for one of them
  const Quarters limit = talk.any_price();
  const std::string buyer = talk.given_account(20 * (limit + 4)), seller = talk.given_account(4),
                    symbol = talk.given_symbol({{seller, 9}});
  const std::string sell = talk.given_order(seller, symbol, -9, limit);
  const std::vector<Element> answers =
      talk.ask_several(Talk::transactions(buyer, Talk::order(symbol, "9", price(limit + 4)) +
                                                     Talk::order(symbol, "8", price(limit + 4))),
                       2);
  if (talk.given_status(seller, sell).executed() != 9 * units_per_share)
    throw Blocked("the orders were not executed", "M3");
  std::size_t executed = 0;
  for (const Element& answer : answers) {
    expect(answer.name == "opened", "<opened> was expected, got " + answer.print());
    const OrderState state = talk.status(buyer, answer.attribute("id"));
    if (state.fills.empty()) continue;
    ++executed;
    expect(!state.open, "of two buys with shares for one the second was executed");
  }
  expect(executed == 1, "of two buys with shares for one the first should be executed");
}

void query_behind_cancel(Talk& talk) {
  const std::string account = talk.given_account(400), symbol = talk.given_symbol({{account, 7}});
  talk.given_canceled(account, talk.given_order(account, symbol, -3, 400));
  const std::string id = talk.given_order(account, symbol, -4, 400);
  const std::vector<Element> answers =
      talk.ask_several(Talk::transactions(account, cancel(id) + query(id)), 2);
  for (const Element& answer : answers) {
    // in whichever order they stand: R3 is tested on its own
    const OrderState state = Talk::read_state(answer, answer.name.c_str());
    expect(!state.open && state.canceled,
           "a query behind the cancel should show it, got " + answer.print());
  }
}

void unknown_account(Talk& talk) {
  const std::string unknown = talk.source().account(), owner = talk.given_account(4),
                    symbol = talk.given_symbol({{owner, 5}});
  talk.given_order(owner, symbol, 1, 4);
  const std::vector<Element> answers = talk.ask_several(
      Talk::transactions(unknown, Talk::order(symbol, "1", "1") + query("1") + cancel("1")), 3);
  for (const Element& answer : answers)
    expect(answer.name == "error", "an <error> for each was expected, got " + answer.print());
}

void no_children(Talk& talk) {
  expect(talk.ask(Talk::transactions(talk.given_account(4), "")).empty(),
         "empty <results> was expected");
  expect(talk.ask(Talk::transactions(talk.source().account(), "")).empty(),
         "empty <results> was expected, whatever the account");
}

void sign_of_the_amount(Talk& talk) {
  const std::int64_t shares = talk.any_shares();
  const Quarters limit = talk.any_price();
  const std::string buyer = talk.given_account(shares * limit), seller = talk.given_account(4),
                    symbol = talk.given_symbol({{seller, shares}});
  talk.expect_opened(buyer, symbol, shares, limit, "a buy, with cash and no shares");
  talk.expect_opened(seller, symbol, -shares, limit + 4, "a sell, with shares and hardly any cash");
}

void invalid_amounts(Talk& talk) {
  const std::string account = talk.given_account(40'000),
                    symbol = talk.given_symbol({{account, 500}});
  for (const char* const amount : {"0", "five", ""})
    talk.expect_refused(account, symbol, amount, "1", "the amount '" + std::string(amount) + "'");
  talk.expect_error(Talk::transactions(account, "<order sym=\"" + symbol + "\" limit=\"1\"/>"),
                    "no amount");
}

void invalid_limits(Talk& talk) {
  const std::string account = talk.given_account(40'000),
                    symbol = talk.given_symbol({{account, 500}});
  talk.given_order(account, symbol, 1, 4);
  talk.given_order(account, symbol, -1, 400);
  for (const char* const limit : {"0", "-1", "one", ""})
    for (const char* const amount : {"1", "-1"})
      talk.expect_refused(account, symbol, amount, limit, "the limit '" + std::string(limit) + "'");
  talk.expect_error(Talk::transactions(account, "<order sym=\"" + symbol + "\" amount=\"1\"/>"),
                    "no limit");
}

void unique_ids(Talk& talk) {
  std::set<std::string> ids;
  for (int accounts = 0; accounts < 3; ++accounts) {
    const std::string account = talk.given_account(40'000),
                      symbol = talk.given_symbol({{account, 500}});
    for (int i = 0; i < 4; ++i) {
      const std::string id =
          talk.expect_opened(account, symbol, i % 2 ? 1 : -1, i % 2 ? 4 : 400, "an order");
      expect(ids.insert(id).second, "the id " + id + " was given to two orders");
    }
  }
}

void integer_ids(Talk& talk) {
  const std::string account = talk.given_account(40'000),
                    symbol = talk.given_symbol({{account, 500}});
  for (int i = 0; i < 3; ++i) {
    const std::string id = talk.given_order(account, symbol, -1, 400);
    expect(id.find_first_not_of("0123456789") == std::string::npos && id.front() != '0',
           "the id '" + id + "' is not an integer from 1");
  }
}

void refused_without_id(Talk& talk) {
  const Refusal refusal = talk.given_refusal();
  const Element answer =
      talk.given_error(Talk::transactions(refusal.account, refusal.order(3)), "M2");
  expect(!answer.find("id"), "a refused order should get no id, got " + answer.print());
}

void buy_of_new_symbol(Talk& talk) {
  talk.expect_opened(talk.given_account(400), talk.source().symbol(), 1, 4,
                     "a buy of a symbol that does not exist");
}

void sell_of_new_symbol(Talk& talk) {
  const std::string account = talk.given_account(400), symbol = talk.given_symbol({{account, 1}});
  talk.given_refused(account, symbol, -2, 400);
  talk.given_order(account, symbol, -1, 400);
  talk.expect_refused(account, talk.source().symbol(), -1, 400,
                      "a sell of a symbol that does not exist");
}

void order_of_parts(Talk& talk) {
  // a buy that meets three sells, one after another, and then is canceled
  const Quarters limit = talk.any_price();
  const std::string buyer = talk.given_account(100 * limit), seller = talk.given_account(4),
                    symbol = talk.given_symbol({{seller, 61}});
  const std::string other = talk.given_order(seller, symbol, -1, limit);
  talk.expect_open(seller, other, 1, "a query");
  talk.given_canceled(seller, other);
  const std::string id = talk.given_order(buyer, symbol, 100, limit);
  for (const std::int64_t shares : {10, 30, 20})
    talk.given_executed(seller, talk.given_order(seller, symbol, -shares, limit - 4));
  const auto check = [&](const char* reply, const std::string& action, const char* first) {
    const Element state = talk.ask_one(Talk::transactions(buyer, action));
    expect(state.name == reply, std::string("<") + reply + "> was expected, got " + state.print());
    expect(state.children.size() == 4 && state.children[0].name == first,
           std::string("<") + first + "> and three <executed> behind it were expected, got " +
               state.print());
    const std::int64_t shares[] = {10, 30, 20};
    for (std::size_t i = 0; i < 3; ++i)
      expect(state.children[i + 1].name == "executed" &&
                 units_of(state.children[i + 1].attribute("shares")) == shares[i] * units_per_share,
             "the oldest execution should come first, got " + state.print());
  };
  check("status", query(id), "open");
  check("canceled", cancel(id), "canceled");
  check("status", query(id), "canceled");
}

void cancel_open(Talk& talk) {
  const std::int64_t shares = talk.any_shares();
  const std::string account = talk.given_account(4),
                    symbol = talk.given_symbol({{account, shares}});
  const std::string id = talk.given_order(account, symbol, -shares, 400);
  talk.given_status(account, id);
  const OrderState canceled = talk.cancel(account, id);
  expect(!canceled.open && canceled.canceled == shares * units_per_share,
         "all " + std::to_string(shares) + " shares should be canceled");
  const OrderState state = talk.status(account, id);
  expect(!state.open && state.canceled == shares * units_per_share,
         "a query after the cancel should show " + std::to_string(shares) + " shares canceled");
}

void cancel_in_vain(Talk& talk) {
  const std::string account = talk.given_account(4), buyer = talk.given_account(40'000),
                    symbol = talk.given_symbol({{account, 20}});
  const std::string id = talk.given_order(account, symbol, -10, 400);
  talk.given_canceled(account, id);
  talk.expect_error(Talk::transactions(account, cancel(id)), "a second cancel");
  const std::string executed = talk.given_order(account, symbol, -10, 40);
  talk.given_order(buyer, symbol, 10, 44);
  if (talk.given_executed(account, executed).executed() != 10 * units_per_share)
    throw Blocked("the order was not executed in full", "M3");
  talk.expect_error(Talk::transactions(account, cancel(executed)),
                    "a cancel of an order that was executed in full");
}

void unknown_ids(Talk& talk) {
  const std::string account = talk.given_account(400);
  talk.expect_error(Talk::transactions(account, query("999999999")), "a query of an unknown id");
  talk.expect_error(Talk::transactions(account, cancel("999999999")), "a cancel of an unknown id");
  talk.expect_error(Talk::transactions(account, query("abc")), "a query of the id 'abc'");
}

void orders_of_others(Talk& talk) {
  const std::string owner = talk.given_account(4), other = talk.given_account(400),
                    symbol = talk.given_symbol({{owner, 10}});
  const std::string id = talk.given_order(owner, symbol, -10, 400);
  talk.given_status(owner, id);
  talk.expect_error(Talk::transactions(other, query(id)), "a query of another account's order");
  talk.expect_error(Talk::transactions(other, cancel(id)), "a cancel of another account's order");
  talk.expect_open(owner, id, 10, "after another account's cancel");
}

void errors_repeat(Talk& talk) {
  const Refusal refusal = talk.given_refusal();
  const std::int64_t shares = talk.between(100, 900);
  const Element error =
      talk.given_error(Talk::transactions(refusal.account, refusal.order(shares)), "M2");
  for (const auto& [name, value] : {std::pair{"sym", refusal.symbol},
                                    {"amount", refusal.amount(shares)},
                                    {"limit", refusal.limit}})
    expect(same_value(error.attribute(name), value), "the <error> should have " +
                                                         std::string(name) + "=\"" + value +
                                                         "\", got " + error.print());
}

void errors_have_the_id(Talk& talk) {
  const std::string account = talk.given_account(40);
  for (const std::string& action : {query("987654321"), cancel("987654321")}) {
    const Element error = talk.given_error(Talk::transactions(account, action), "T10");
    expect(error.attribute("id") == "987654321",
           "the <error> should have the id, got " + error.print());
  }
}

void zeros_before_id(Talk& talk) {
  const std::string account = talk.given_account(4), symbol = talk.given_symbol({{account, 5}});
  const std::string id = talk.given_order(account, symbol, -5, 400);
  const Element status = talk.ask_one(Talk::transactions(account, query("00" + id)));
  expect(status.name == "status" && status.attribute("id") == id,
         "<status id=\"" + id + "\"> was expected, got " + status.print());
}

void other_connections(Talk& talk) {
  const std::string account = talk.given_account(4), symbol = talk.given_symbol({{account, 6}});
  talk.given_canceled(account, talk.given_order(account, symbol, -1, 400));
  const std::string id = talk.given_order(account, symbol, -5, 400);
  for (int i = 0; i < 3; ++i) {
    talk.reconnect();
    talk.expect_open(account, id, 5, "on another connection");
  }
  talk.reconnect();
  expect(talk.cancel(account, id).canceled.has_value(),
         "an order should be canceled from another connection");
}

}  // namespace

void add_transaction_cases(Cases& cases) {
  cases.insert(cases.end(), {
                                {"T1", "two orders with shares for one", in_document_order},
                                {"T1", "a query behind a cancel", query_behind_cancel},
                                {"T2", "an unknown account", unknown_account},
                                {"T3", "no children", no_children},
                                {"T4", "buys and sells", sign_of_the_amount},
                                {"T4", "invalid amounts", invalid_amounts},
                                {"T5", "invalid limits", invalid_limits},
                                {"T6", "ids are unique", unique_ids},
                                {"T6", "a refused order", refused_without_id},
                                {"T7", "a buy of a new symbol", buy_of_new_symbol},
                                {"T8", "a sell of a new symbol", sell_of_new_symbol},
                                {"T9", "the parts of a state", order_of_parts},
                                {"T10", "a cancel", cancel_open},
                                {"T10", "a cancel in vain", cancel_in_vain},
                                {"T10", "unknown ids", unknown_ids},
                                {"T11", "orders of others", orders_of_others},
                                {"T14", "the error of an order", errors_repeat},
                                {"T15", "an id with zeros in front", zeros_before_id},
                                {"T16", "other connections", other_connections},
                                {"T18", "ids are integers", integer_ids},
                                {"T19", "the errors of a query and a cancel", errors_have_the_id},
                            });
}

}  // namespace exchange::conformance
