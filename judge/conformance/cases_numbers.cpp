#include "judge/conformance/cases.hpp"

namespace exchange::conformance {
namespace {

// An account with ample cash and shares.
struct Rich {
  explicit Rich(Talk& talk)
      : account(talk.given_account("1000000")), symbol(talk.given_symbol({{account, 1'000}})) {}
  std::string account, symbol;
};

void not_numbers(Talk& talk) {
  const Rich rich(talk);
  talk.given_order(rich.account, rich.symbol, 1, 4);
  for (const char* const number : {"nan", "inf", "0x10", "1,5", "--1", "1.2.3", ".", "1x", "1 2"}) {
    talk.expect_refused(rich.account, rich.symbol, number, "1",
                        "the amount '" + std::string(number) + "'");
    talk.expect_refused(rich.account, rich.symbol, "1", number,
                        "the limit '" + std::string(number) + "'");
  }
}

void decimals_without_digits(Talk& talk) {
  const Rich rich(talk);
  talk.expect_opened(rich.account, rich.symbol, "1", ".5", "the limit '.5'");
  talk.expect_opened(rich.account, rich.symbol, "1", "5.", "the limit '5.'");
}

void space_around_shares(Talk& talk) {
  const std::string account = talk.given_account(4), symbol = talk.source().symbol();
  const Element answer = talk.ask_one("<create><symbol sym=\"" + symbol + "\"><account id=\"" +
                                      account + "\">\n  12 </account></symbol></create>");
  expect(answer.name == "created", "<created> was expected, got " + answer.print());
}

void eight_decimals(Talk& talk) {
  const Rich rich(talk);
  talk.expect_opened(rich.account, rich.symbol, "0.00000001", "0.00000001",
                     "the smallest amount and limit");
  const std::string id =
      talk.expect_opened(rich.account, rich.symbol, "-1.5", "900.12345678", "a sell of 1.5 shares");
  expect(talk.status(rich.account, id).open == 3 * units_per_share / 2,
         "1.5 shares should be open");
}

void balance_of_sixteen_decimals(Talk& talk) {
  const std::string balance = "0.0000000000000001";
  const std::string account = talk.given_account(balance),
                    symbol = talk.given_symbol({{account, 1}});
  talk.expect_opened(account, symbol, "0.00000001", "0.00000001",
                     "a buy for 1e-16, with a balance of 1e-16");
}

void zeros_behind(Talk& talk) {
  const Rich rich(talk);
  talk.expect_opened(rich.account, rich.symbol, "1.000000000000", "2.500000000000",
                     "zeros behind the eighth decimal");
}

void too_many_decimals(Talk& talk) {
  const Rich rich(talk);
  const std::string id =
      talk.expect_opened(rich.account, rich.symbol, "-1.999999999", "900", "nine decimals");
  expect(talk.status(rich.account, id).open == 2 * units_per_share - 1,
         "1.99999999 shares should be open");
  talk.expect_refused(rich.account, rich.symbol, "0.000000001", "1", "an amount that rounds to 0");
  talk.given_account("1.00000000000000001");
}

void limits_are_rounded(Talk& talk) {
  const Rich rich(talk);
  talk.expect_opened(rich.account, rich.symbol, "-1", "0.123456781",
                     "a sell's limit with nine decimals");
  const std::string buy = talk.expect_opened(rich.account, rich.symbol, "1", "0.123456789",
                                             "a buy's limit with nine decimals");
  talk.expect_executed(rich.account, buy, 0,
                       "a sell at 0.12345679, rounded up, and a buy at 0.12345678, rounded down");
}

void limit_of_zero(Talk& talk) {
  const Rich rich(talk);
  talk.expect_refused(rich.account, rich.symbol, "1", "0.000000001",
                      "a buy's limit that rounds to 0");
}

// In floating point 0.3 - 0.1 is less than 0.2.
void tenths(Talk& talk) {
  const std::int64_t a = talk.between(1, 4), b = talk.between(5, 9);
  const auto decimal = [](std::int64_t tenths) {
    return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10);
  };
  for (const auto& [first, second] : {std::pair<std::int64_t, std::int64_t>{1, 2}, {a, b}}) {
    const std::string account = talk.given_account(decimal(first + second)),
                      symbol = talk.given_symbol({{account, 1}});
    talk.expect_opened(account, symbol, "1", decimal(first), "a buy of a balance in tenths");
    talk.expect_opened(account, symbol, "1", decimal(second), "a buy of all that is left of it");
  }
}

// Many small costs, then all that is left to the last cent.
void sum_of_cents(Talk& talk) {
  const std::int64_t count = talk.between(10, 30);
  const std::string account = talk.given_account(std::to_string(count) + ".07"),
                    symbol = talk.given_symbol({{account, 1}});
  for (std::int64_t i = 0; i < 10; ++i)
    talk.expect_opened(account, symbol, "1", "0.1", "a buy for 0.1");
  talk.given_refused(account, symbol, 1, 4 * count);
  talk.expect_refused(account, symbol, "1", std::to_string(count - 1) + ".08",
                      "a buy for a cent more than is left");
  talk.expect_opened(account, symbol, "1", std::to_string(count - 1) + ".07",
                     "a buy for all that is left, to the cent");
}

void large_and_small(Talk& talk) {
  const std::string account = talk.given_account("9007199254740993.01"),
                    symbol = talk.given_symbol({{account, 1}});
  talk.expect_opened(account, symbol, "1000000", "9007199254.74", "a buy for nearly all cash");
  talk.given_refused(account, symbol, 1'000'000, 4'000'000'000);
  talk.expect_refused(account, symbol, "1", "993.02", "a buy for a cent more than is left");
  talk.expect_opened(account, symbol, "1", "993.01", "a buy for all that is left, to the cent");
}

}  // namespace

void add_number_cases(Cases& cases) {
  cases.insert(cases.end(),
               {
                   {"N1", "what is no number", not_numbers},
                   {"N2", "white space around shares", space_around_shares},
                   {"N3", "eight decimals", eight_decimals},
                   {"N3", "a point at the beginning or end", decimals_without_digits},
                   {"N4", "a balance of sixteen decimals", balance_of_sixteen_decimals},
                   {"N5", "zeros behind the decimals", zeros_behind},
                   {"N6", "too many decimals", too_many_decimals},
                   {"N7", "limits are rounded", limits_are_rounded},
                   {"N8", "a limit that rounds to 0", limit_of_zero},
                   {"N9", "tenths", tenths},
                   {"N9", "a sum of cents", sum_of_cents},
                   {"N9", "large and small amounts", large_and_small},
               });
}

}  // namespace exchange::conformance
