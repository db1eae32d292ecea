// The rules of symbols as rows (docs/protocol.md, I1 to I9; testing/wire/instruments.txt has their
// refusals).
#include "support.hpp"

using namespace exchange;
using Lines = std::vector<std::string>;

namespace {

Rows image_of(Exchange& engine) {
  Rows rows;
  engine.take_changes(rows);
  return rows;
}

const SymbolName sym("SYM");

}  // namespace

TEST_CASE_METHOD(TwoTraders, "the rules of a symbol are in its row, and hold after a restart") {
  CHECK(apply(SetInstrument{.symbol = sym, .tick = Price::whole(5), .trading = Trading::halted}) ==
        created());
  CHECK(apply(SetInstrument{.symbol = sym, .lot = Shares::whole(10)}) == created());
  Exchange restarted(image_of(engine));
  const auto try_buy = [&](std::int64_t shares, std::int64_t limit) {
    return restarted.apply(
        PlaceOrder{AccountId("1"), sym, Side::buy, Shares::whole(shares), Price::whole(limit)},
        now);
  };
  CHECK(try_buy(10, 5) == rejected(Reason::trading_halted));
  CHECK(restarted.apply(SetInstrument{.symbol = sym, .trading = Trading::open}, now) == created());
  CHECK(try_buy(10, 6) == Outcome(Rejected{Reason::off_tick, 500'000'000}));
  CHECK(try_buy(15, 5) == Outcome(Rejected{Reason::off_lot, 1'000'000'000}));
  CHECK(try_buy(10, 5) == opened(1));

  changes();
  CHECK(apply(SetInstrument{.symbol = sym, .trading = Trading::open}) == created());
  CHECK(changes() == Lines{"SymbolRow(number 0, name SYM, shares_total 20000, tick 5, lot 10, "
                           "trading_since " +
                           std::to_string(now.microseconds) + "us)"});
}

TEST_CASE_METHOD(TwoTraders, "equal histories have equal digests, and other rules another one") {
  const auto digest_after = [](const SetInstrument& command) {
    Exchange exchange;
    CHECK(exchange.apply(CreateSymbol{sym}, Timestamp{1}) == created());
    CHECK(exchange.apply(command, Timestamp{1}) == created());
    return exchange.totals().digest;
  };
  const std::uint64_t usual = digest_after({.symbol = sym, .tick = Price::whole(5)});
  CHECK(digest_after({.symbol = sym, .tick = Price::whole(5)}) == usual);
  CHECK(digest_after({.symbol = sym, .tick = Price::whole(6)}) != usual);
  CHECK(digest_after({.symbol = sym, .tick = Price::whole(5), .trading = Trading::halted}) !=
        usual);
}

TEST_CASE_METHOD(TwoTraders, "rows with a rule below zero are refused") {
  Rows rows = image_of(engine);
  rows.symbols[0].tick = Price::from_units(-1);
  CHECK_THROWS_WITH(Exchange(rows), "symbols row 0: a rule below zero");
}
