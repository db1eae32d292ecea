// Cancels of many orders: of an account, and of a connection that ends.

#include <algorithm>
#include <chrono>
#include <thread>

#include "judge/conformance/cases.hpp"

namespace exchange::conformance {
namespace {

std::string tied(const std::string& account, const std::string& inside,
                 const std::string& word = "true") {
  return Talk::transactions(account, inside, " cancel-on-disconnect=\"" + word + "\"");
}
std::string buy(const std::string& symbol) { return Talk::order(symbol, "1", "1"); }

// The ids of the orders that the reply lists as canceled.
std::vector<std::string> canceled(Talk& talk, const std::string& account,
                                  const std::string& cancel) {
  std::vector<std::string> ids;
  for (const Element& answer : talk.ask(Talk::transactions(account, cancel))) {
    expect(answer.name == "canceled", "<canceled> was expected, got " + answer.print());
    ids.push_back(answer.attribute("id"));
  }
  return ids;
}

void of_symbol_and_account(Talk& talk) {
  const std::string account = talk.given_account(400), other = talk.given_account(400),
                    a = talk.given_symbol({{account, 1}}), b = talk.given_symbol({{account, 1}});
  const std::string first = talk.given_order(account, a, 1, 4),
                    second = talk.given_order(account, b, 1, 4),
                    third = talk.given_order(account, a, -1, 400),
                    others = talk.given_order(other, a, 1, 4);
  expect(canceled(talk, account, "<cancel sym=\"" + a + "\"/>") == std::vector{first, third},
         "the orders of one symbol should be canceled, the oldest first");
  talk.expect_open(account, second, 1, "an order of another symbol");
  expect(talk.status(account, first).canceled.has_value(), "a canceled order is still open");
  const std::string fourth = talk.given_order(account, a, 97, 4);
  expect(canceled(talk, account, "<cancel all=\"true\"/>") == std::vector{second, fourth},
         "all orders should be canceled, the oldest first");
  talk.expect_open(other, others, 1, "an order of another account");
}

void other_attributes(Talk& talk) {
  const std::string account = talk.given_account(400), symbol = talk.given_symbol({{account, 1}}),
                    first = talk.given_order(account, symbol, 1, 4),
                    second = talk.given_order(account, symbol, 2, 4);
  expect(canceled(talk, account, "<cancel sym=\"" + symbol + "\" id=\"" + second + "\"/>") ==
             std::vector{second},
         "a cancel with 'id' should cancel that order");
  talk.expect_error(Talk::transactions(account, "<cancel order=\"" + first + "\"/>"),
                    "a cancel with a misspelled 'id'");
  talk.expect_error(Talk::transactions(account, "<cancel/>"), "a cancel without attributes");
  talk.expect_open(account, first, 1, "an order, after a cancel with a misspelled 'id'");
}

void many(Talk& talk) {
  constexpr int orders = 1'001;
  const std::string account = talk.given_account(8 * orders),
                    symbol = talk.given_symbol({{account, 1}});
  std::string all;
  for (int i = 0; i < orders; ++i) all += buy(symbol);
  std::vector<std::string> opened;
  for (const Element& answer : talk.ask_several(Talk::transactions(account, all), orders)) {
    if (answer.name != "opened") throw Blocked("the orders were not opened", "T4");
    opened.push_back(answer.attribute("id"));
  }
  const std::vector newest{opened.back()};
  opened.pop_back();
  expect(canceled(talk, account, "<cancel all=\"true\"/>") == opened,
         "the 1,000 oldest should be canceled");
  expect(canceled(talk, account, "<cancel all=\"true\"/>") == newest, "one should be left");
}

void none(Talk& talk) {
  const std::string account = talk.given_account(400), symbol = talk.given_symbol({{account, 1}});
  talk.given_order(account, symbol, 1, 4);
  expect(canceled(talk, account, "<cancel all=\"true\"/>").size() == 1,
         "the order should be canceled");
  for (const std::string& cancel :
       {std::string("<cancel all=\"true\"/>"), "<cancel sym=\"" + symbol + "\"/>",
        "<cancel sym=\"" + talk.source().symbol() + "\"/>"})
    talk.expect_error(Talk::transactions(account, cancel), "a cancel of no order");
}

// The server may take a moment to see the end of a connection.
bool is_canceled_soon(Talk& talk, const std::string& account, const std::string& id) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                      std::chrono::duration<double>(talk.target().timeout_s()));
  while (talk.status(account, id).open) {
    if (Clock::now() >= end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return true;
}

std::string opened_by(Talk& talk, const std::string& request) {
  return Talk::opened_id(talk.ask_one(request), "an order");
}

void end_of_connection(Talk& talk) {
  const std::string account = talk.given_account(400), symbol = talk.given_symbol({{account, 1}});
  const std::string stays = talk.given_order(account, symbol, 1, 4),
                    ends = opened_by(talk, tied(account, buy(symbol)));
  talk.reconnect();
  expect(is_canceled_soon(talk, account, ends), "an order should end with its connection");
  talk.expect_open(account, stays, 1, "an order of a request that does not ask for it");
}

void words(Talk& talk) {
  const std::string account = talk.given_account(400), symbol = talk.given_symbol({{account, 1}});
  for (const Element& answer : talk.ask_several(tied(account, buy(symbol) + buy(symbol), "yes"), 2))
    expect(answer.name == "error",
           "cancel-on-disconnect=\"yes\" should give <error>, got " + answer.print());
  const std::string stays = opened_by(talk, tied(account, buy(symbol), "false")),
                    ends = opened_by(talk, tied(account, buy(symbol)));
  talk.reconnect();
  if (!is_canceled_soon(talk, account, ends))
    throw Blocked("no order ends with its connection", "E20");
  talk.expect_open(account, stays, 1, "an order with cancel-on-disconnect=\"false\"");
}

}  // namespace

void add_cancel_cases(Cases& cases) {
  cases.insert(cases.end(), {
                                {"E17", "all orders, and those of a symbol", of_symbol_and_account},
                                {"E17", "a cancel with other attributes", other_attributes},
                                {"E18", "1,001 orders", many, true},
                                {"E19", "nothing to cancel", none},
                                {"E20", "a connection that ends", end_of_connection},
                                {"E22", "values of cancel-on-disconnect", words},
                            });
}

}  // namespace exchange::conformance
