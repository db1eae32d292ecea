// Cases that check replies in more detail than cases/*.txt can.

#include <cstdlib>
#include <ctime>

#include "course/conformance/cases.hpp"

namespace exchange::conformance {
namespace {

// A sell that a buy executes in part, with account and id of both.
struct Trade {
  std::string buyer, seller, symbol, buy, sell;
  std::int64_t shares, more;  // executed; the rest that the seller ordered
  Quarters limit;
};
Trade given_trade(Talk& talk) {
  Trade trade;
  trade.shares = talk.any_shares(), trade.more = talk.any_shares(), trade.limit = talk.any_price();
  trade.buyer = talk.given_account(trade.shares * (trade.limit + 4));
  trade.seller = talk.given_account(4);
  trade.symbol = talk.given_symbol({{trade.seller, trade.shares + trade.more}});
  trade.sell =
      talk.given_order(trade.seller, trade.symbol, -trade.shares - trade.more, trade.limit);
  trade.buy = talk.given_order(trade.buyer, trade.symbol, trade.shares, trade.limit + 4);
  talk.given_executed(trade.seller, trade.sell);
  return trade;
}

void element_for_element(Talk& talk) {
  // between two new accounts: an existing one, or one with debts
  const std::string a = talk.source().account(), c = talk.source().account();
  std::string b = talk.given_account(4);
  const auto account = [](const std::string& id, const char* balance) {
    return "<account id=\"" + id + "\" balance=\"" + balance + "\"/>";
  };
  const char* refused = "15";
  if (talk.ask_one("<create>" + account(b, refused) + "</create>").name != "error") {
    b = talk.source().account();
    refused = "-1";
    talk.given_error("<create>" + account(b, refused) + "</create>", "C6");
  }
  const std::vector<Element> answers = talk.ask_several(
      "<create>" + account(a, "10") + account(b, refused) + account(c, "20") + "</create>", 3);
  const char* const names[] = {"created", "error", "created"};
  const std::string ids[] = {a, b, c};
  for (std::size_t i = 0; i < 3; ++i)
    expect(answers[i].name == names[i] &&
               (!answers[i].find("id") || answers[i].attribute("id") == ids[i]),
           "<" + std::string(names[i]) + "> for account " + ids[i] + " was expected, got " +
               answers[i].print());
}

void orders_in_sequence(Talk& talk) {
  const Refusal refusal = talk.given_refusal();
  const auto is_refused = [](std::int64_t i) { return i % 3 == 2; };
  std::string inside;
  const std::int64_t count = talk.between(3, 9);
  for (std::int64_t i = 1; i <= count; ++i)
    inside +=
        is_refused(i) ? refusal.order(i) : Talk::order(refusal.symbol, std::to_string(i), "1.25");
  const std::vector<Element> answers =
      talk.ask_several(Talk::transactions(refusal.account, inside), std::size_t(count));
  for (std::int64_t i = 1; i <= count; ++i) {
    const Element& answer = answers[std::size_t(i - 1)];
    const std::string amount = is_refused(i) ? refusal.amount(i) : std::to_string(i);
    expect(answer.name == (is_refused(i) ? "error" : "opened") &&
               (!answer.find("amount") || same_value(answer.attribute("amount"), amount)),
           "reply element " + std::to_string(i) + " does not belong to order " + std::to_string(i) +
               ": " + answer.print());
  }
}

void stays_open(Talk& talk) {
  if (talk.target().style().per_request) broken("the server closes the connection after a reply");
  for (int i = 0; i < 2; ++i)
    talk.ask_one("<create><account id=\"" + talk.source().account() +
                 "\" balance=\"1\"/></create>");
}

std::vector<Element> parts(Talk& talk, const std::string& account, const std::string& id) {
  const Element status = talk.ask_one(Talk::transactions(account, "<query id=\"" + id + "\"/>"));
  expect(status.name == "status" && !status.children.empty(),
         "a <status> with its parts was expected, got " + status.print());
  return status.children;
}

void unsigned_shares(Talk& talk) {
  const Trade trade = given_trade(talk);
  for (const Element& part : parts(talk, trade.seller, trade.sell)) {
    const auto units = units_of(part.attribute("shares"));
    expect(units && *units >= 0, "shares should have no sign: " + part.print());
  }
}

void shortest_numbers(Talk& talk) {
  const Trade trade = given_trade(talk);
  for (const Element& part : parts(talk, trade.buyer, trade.buy))
    for (const char* const name : {"shares", "price"})
      if (const std::string* const text = part.find(name)) {
        const auto units = units_of(*text);
        expect(units && plain(std::abs(*units)) == *text,
               "numbers should be written in shortest decimals: " + part.print());
      }
}

void seconds_since_1970(Talk& talk) {
  constexpr std::int64_t day_s = 86'400;
  const Trade trade = given_trade(talk);
  talk.given_canceled(trade.seller, trade.sell);
  std::size_t times = 0;
  for (const Element& part : parts(talk, trade.seller, trade.sell))
    if (const std::string* const text = part.find("time")) {
      char* end = nullptr;
      const long long time = std::strtoll(text->c_str(), &end, 10);
      const std::int64_t now = std::time(nullptr);
      expect(!text->empty() && *end == '\0' && time > now - day_s && time < now + day_s,
             "the time should be in whole seconds since 1970, now about " +
                 std::to_string(std::time(nullptr)) + ": " + part.print());
      ++times;
    }
  expect(times >= 2, "executions and cancels should have a time");
}

void in_document_order(Talk& talk) {
  // only one of them has shares
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
  const std::vector<Element> answers = talk.ask_several(
      Talk::transactions(account, "<cancel id=\"" + id + "\"/><query id=\"" + id + "\"/>"), 2);
  for (const Element& answer : answers) {
    // in any order: other cases test R3
    const OrderState state = Talk::read_state(answer, answer.name.c_str());
    expect(!state.open && state.canceled,
           "a query behind the cancel should show it, got " + answer.print());
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

}  // namespace

Cases reply_cases() {
  return {
      {"R3", "an error between accounts", element_for_element},
      {"R3", "errors between orders", orders_in_sequence},
      {"R6", "a second request on the connection", stays_open},
      {"R10", "shares of a sell", unsigned_shares},
      {"R11", "numbers of an execution", shortest_numbers},
      {"R12", "times", seconds_since_1970},
      {"T1", "two orders with shares for one", in_document_order},
      {"T1", "a query behind a cancel", query_behind_cancel},
      {"T6", "a refused order", refused_without_id},
      {"T14", "the error of an order", errors_repeat},
      {"T18", "ids are integers", integer_ids},
  };
}

}  // namespace exchange::conformance
