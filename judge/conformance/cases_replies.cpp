#include <cstdlib>
#include <ctime>

#include "client/connection/framing.hpp"
#include "judge/conformance/cases.hpp"

namespace exchange::conformance {
namespace {

// A sell that is executed in part by a buy, with account and id of both.
struct Trade {
  std::string buyer, seller, symbol, buy, sell;
  std::int64_t shares, more;  // executed; ordered beyond that by the seller
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

void one_document(Talk& talk) {
  const std::vector<Element> answers =
      talk.ask("<create><account id=\"" + talk.source().account() + "\" balance=\"1\"/></create>");
  expect(answers.size() == 1, "one element in <results> was expected");
}

void element_for_element(Talk& talk) {
  // one that exists, else one with debts, between new ones
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

void repeats_attributes(Talk& talk) {
  const std::string account = talk.given_account(400'000),
                    symbol = talk.given_symbol({{account, 1}});
  const std::string amount = std::to_string(talk.between(1, 9)), limit = price(talk.any_price());
  talk.given_order(account, symbol, 1, 4);
  const Element opened =
      talk.ask_one(Talk::transactions(account, Talk::order(symbol, amount, limit)));
  expect(opened.name == "opened", "<opened> was expected, got " + opened.print());
  for (const auto& [name, value] : {std::pair{"sym", symbol}, {"amount", amount}, {"limit", limit}})
    expect(
        same_value(opened.attribute(name), value),
        "<opened> should have " + std::string(name) + "=\"" + value + "\", got " + opened.print());
  const std::string id = talk.source().account();
  const Element created =
      talk.ask_one("<create><account id=\"" + id + "\" balance=\"1\"/></create>");
  expect(created.attribute("id") == id, "<created> should have the id " + id);
  const Element placed = talk.ask_one("<create><symbol sym=\"" + symbol + "\"><account id=\"" + id +
                                      "\">3</account></symbol></create>");
  expect(placed.attribute("id") == id && placed.attribute("sym") == symbol,
         "<created> should have the sym and id of the shares placed, got " + placed.print());
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

// An order that is refused, in a request with these attributes.
Element refused(Talk& talk, const char* attributes) {
  const std::string account = talk.given_account(4), symbol = talk.given_symbol({{account, 1}});
  const Element answer =
      talk.ask_one(Talk::transactions(account, Talk::order(symbol, "1000", "1000"), attributes));
  expect(answer.name == "error", "<error> was expected, got " + answer.print());
  return answer;
}

void executions_from(Talk& talk) {
  const Trade trade = given_trade(talk);
  const auto parts = [&](const char* from) {
    const Element answer = talk.ask_one(Talk::transactions(
        trade.seller, "<query id=\"" + trade.sell + "\" from=\"" + from + "\"/>"));
    expect(answer.name == "status", "<status> was expected, got " + answer.print());
    return answer.children.size();
  };
  expect(parts("1") == 2, "what is open and one execution should be listed");
  expect(parts("2") == 1, "from the second execution on there should be none");
}

void codes_if_asked(Talk& talk) {
  expect(refused(talk, " codes=\"true\"").find("code") != nullptr,
         "an error should have a code where the request asks for it");
  expect(!refused(talk, "").find("code"), "an error should have no code otherwise");
}

void code_of_malformed(Talk& talk) {
  refused(talk, " codes=\"true\"");
  expect(talk.ask_one("<create>").find("code") != nullptr,
         "a malformed document should get a code after a request that asked for it");
}

}  // namespace

void add_reply_cases(Cases& cases) {
  cases.insert(cases.end(), {
                                {"R1", "one document", one_document},
                                {"R3", "an error between accounts", element_for_element},
                                {"R3", "errors between orders", orders_in_sequence},
                                {"R6", "a second request on the connection", stays_open},
                                {"R8", "attributes are repeated", repeats_attributes},
                                {"R10", "shares of a sell", unsigned_shares},
                                {"R11", "numbers of an execution", shortest_numbers},
                                {"R12", "times", seconds_since_1970},
                                {"R14", "codes of errors", codes_if_asked},
                                {"R15", "a malformed document", code_of_malformed},
                                {"R16", "executions from the second on", executions_from},
                            });
}

}  // namespace exchange::conformance
