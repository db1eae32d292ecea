#include "judge/conformance/cases.hpp"

namespace exchange::conformance {
namespace {

std::string account(const std::string& id, const std::string& balance) {
  return "<account id=\"" + id + "\" balance=\"" + balance + "\"/>";
}
std::string create(const std::string& inside) { return "<create>" + inside + "</create>"; }
std::string placement(const std::string& symbol, const std::string& id, const std::string& shares) {
  return "<symbol sym=\"" + symbol + "\"><account id=\"" + id + "\">" + shares +
         "</account></symbol>";
}
void expect_created(const Element& answer, const std::string& why) {
  expect(answer.name == "created", why + ": <created> was expected, got " + answer.print());
}

void in_document_order(Talk& talk) {
  talk.given_symbol({{talk.given_account(4), 3}});
  // the second needs the first
  const std::string id = talk.source().account(), symbol = talk.source().symbol();
  for (const Element& answer :
       talk.ask_several(create(account(id, "5") + placement(symbol, id, "3")), 2))
    expect_created(answer, "an account, then shares for it");
}

void empty_create(Talk& talk) {
  expect(talk.ask("<create></create>").empty(), "empty <results> was expected");
  expect(talk.ask("<create/>").empty(), "empty <results> was expected");
}

void ids_are_digits(Talk& talk) {
  for (const char* const id : {"", "12a", "-5", "1 2", "x", "1.5"})
    talk.expect_error(create(account(id, "5")), "the account id '" + std::string(id) + "'");
}

void ids_as_written(Talk& talk) {
  const std::string id = talk.given_account(4);
  expect_created(talk.ask_one(create(account("00" + id, "5"))), "an id with zeros in front");
}

void long_ids(Talk& talk) {
  const std::string id = talk.source().account();
  for (const char digit : {'7', '8'})
    expect_created(talk.ask_one(create(account(std::string(64 - id.size(), digit) + id, "5"))),
                   "one of two ids of 64 digits with the same end");
}

void existing_account(Talk& talk) {
  const Quarters cash = talk.between(40, 4'000);
  const std::string id = talk.given_account(cash), symbol = talk.given_symbol({{id, 1}});
  for (const Quarters other : {cash, 2 * cash, Quarters(0)})
    talk.expect_error(create(account(id, price(other))), "an account that exists");
}

void balances(Talk& talk) {
  for (const char* const balance : {"-1", "ten", ""})
    talk.expect_error(create(account(talk.source().account(), balance)),
                      "the balance '" + std::string(balance) + "'");
  expect_created(talk.ask_one(create(account(talk.source().account(), "0"))), "the balance 0");
  talk.expect_error(create("<account id=\"" + talk.source().account() + "\"/>"), "no balance");
}

void symbols(Talk& talk) {
  const std::string id = talk.given_account(4);
  talk.given_symbol({{id, 1}});
  for (const char* const symbol : {"", "A B", "A-B", "A.B", "A$"})
    talk.expect_error(create(placement(symbol, id, "1")),
                      "the symbol '" + std::string(symbol) + "'");
  for (const char* const first : {"Az09", "9", "z"})
    expect_created(talk.ask_one(create(placement(first + talk.source().symbol(), id, "1"))),
                   "a symbol of letters and digits");
}

void case_of_symbols(Talk& talk) {
  const std::string id = talk.given_account(4), upper = talk.given_symbol({{id, 10}});
  std::string lower = upper;
  lower[0] = 's';
  talk.given_order(id, upper, -1, 400);
  talk.given_refused(id, upper, -11, 400);
  talk.expect_refused(id, lower, -1, 4, "a sell of '" + lower + "' with shares of '" + upper + "'");
}

void shares_of_a_placement(Talk& talk) {
  const std::int64_t shares = talk.any_shares();
  const std::string id = talk.given_account(4), symbol = talk.source().symbol();
  expect_created(talk.ask_one(create(placement(symbol, id, std::to_string(shares)))), "shares");
  talk.given_refused(id, symbol, -shares - 1, 400);
  talk.expect_opened(id, symbol, -shares, 400, "a sell of all shares that were placed");
}

void several_placements(Talk& talk) {
  const std::string a = talk.given_account(4), b = talk.given_account(4),
                    symbol = talk.source().symbol();
  for (const Element& answer :
       talk.ask_several(create("<symbol sym=\"" + symbol + "\"><account id=\"" + a +
                               "\">5</account><account id=\"" + b + "\">7</account></symbol>"),
                        2))
    expect_created(answer, "shares for two accounts");
  talk.given_refused(a, symbol, -6, 400);
  talk.expect_opened(a, symbol, -5, 400, "a sell of the shares of the first account");
  talk.expect_opened(b, symbol, -7, 400, "a sell of the shares of the second account");
}

void invalid_shares(Talk& talk) {
  const std::string id = talk.given_account(4), symbol = talk.given_symbol({{id, 1}});
  for (const char* const shares : {"-5", "many", "", "1 2"})
    talk.expect_error(create(placement(symbol, id, shares)),
                      "a placement of '" + std::string(shares) + "' shares");
}

void placement_at_unknown_account(Talk& talk) {
  const std::string unknown = talk.source().account(),
                    symbol = talk.given_symbol({{talk.given_account(4), 5}});
  talk.expect_error(create(placement(symbol, unknown, "5")), "shares for an unknown account");
}

void more_shares(Talk& talk) {
  const std::int64_t first = talk.any_shares(), second = talk.any_shares();
  const std::string id = talk.given_account(4), symbol = talk.given_symbol({{id, first}});
  expect_created(talk.ask_one(create(placement(symbol, id, std::to_string(second)))),
                 "more shares of a symbol");
  talk.given_refused(id, symbol, -first - second - 1, 400);
  talk.expect_opened(id, symbol, -first - second, 400, "a sell of the shares of both placements");
}

void symbol_alone(Talk& talk) {
  const std::string symbol = talk.source().symbol();
  for (int i = 0; i < 2; ++i)
    expect_created(talk.ask_one(create("<symbol sym=\"" + symbol + "\"/>")),
                   "a symbol without children");
}

void too_many_shares(Talk& talk) {
  const std::string id = talk.given_account(4), symbol = talk.source().symbol();
  expect_created(talk.ask_one(create(placement(symbol, id, "92233720367"))), "92,233,720,367");
  talk.expect_error(create(placement(symbol, id, "2")), "shares over 2^63 units of 1e-8");
}

}  // namespace

void add_create_cases(Cases& cases) {
  cases.insert(cases.end(), {
                                {"C1", "an account, then its shares", in_document_order},
                                {"C2", "an empty <create>", empty_create},
                                {"C3", "ids that are no numbers", ids_are_digits},
                                {"C4", "ids with zeros in front", ids_as_written},
                                {"C4", "ids of 64 digits", long_ids},
                                {"C5", "an account that exists", existing_account},
                                {"C6", "balances", balances},
                                {"C7", "names of symbols", symbols},
                                {"C8", "upper and lower case", case_of_symbols},
                                {"C9", "shares can be sold", shares_of_a_placement},
                                {"C9", "several accounts in one symbol", several_placements},
                                {"C9", "invalid numbers of shares", invalid_shares},
                                {"C10", "an unknown account", placement_at_unknown_account},
                                {"C11", "a symbol that exists", more_shares},
                                {"C12", "a symbol without children", symbol_alone},
                                {"C15", "too many shares", too_many_shares},
                            });
}

}  // namespace exchange::conformance
