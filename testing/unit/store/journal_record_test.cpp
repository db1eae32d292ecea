#include "catch.hpp"

#include <random>

#include "store/journal_record.hpp"
#include "store/store.hpp"
#include "support/sealed_record.hpp"

using namespace exchange;
using namespace exchange::testing;

namespace {

const KeyHash some_key{.log2_n = 14, .r = 8, .p = 1, .salt = {1, 2, 3}, .digest = {255, 0, 254}};
const std::vector<Command> every_kind{
    CreateAccount{AccountId("2"), Cash::whole(1), some_key},
    CreateAccount{AccountId(std::string(64, '9')), cash_total_max},
    CreateAccount{AccountId("0"), Cash()},
    CreateSymbol{SymbolName(std::string(32, 'Z'))},
    PlaceShares{SymbolName("a"), AccountId("1"), Shares::from_units(1)},
    PlaceOrder{AccountId("1"), SymbolName("a"), Side::sell,
               parse_shares("92233720367.99999999").value, Price::from_units(1)},
    PlaceOrder{AccountId("1"), SymbolName("a"), Side::buy, Shares::from_units(1),
               parse_price("92233720367.99999999").value},
    CancelOrder{AccountId("1"), UINT64_MAX},
    PlaceOrder{AccountId("1"), SymbolName("a"), Side::buy, Shares::from_units(1),
               Price::from_units(2), OrderReference(std::string(64, '-'))},
    CancelOrder{AccountId("1"), 0, OrderReference("b")},
    PlaceOrder{AccountId("1"),
               SymbolName("a"),
               Side::buy,
               Shares::from_units(1),
               Price::from_units(2),
               {},
               Lifetime::immediate_or_cancel},
    PlaceOrder{AccountId("1"), SymbolName("a"), Side::sell, Shares::from_units(1),
               Price::from_units(2), OrderReference("c"), Lifetime::fill_or_kill},
    PlaceOrder{AccountId("1"), SymbolName("a"), Side::sell, Shares::from_units(1),
               Price::from_units(2), OrderReference("d"), Lifetime::until_canceled, true},
    PlaceOrder{AccountId("1"),
               SymbolName("a"),
               Side::buy,
               Shares::from_units(1),
               Price(),
               {},
               Lifetime::immediate_or_cancel},
    PlaceOrder{AccountId("1"), SymbolName("a"), Side::sell, Shares::from_units(1),
               Price::from_units(2), OrderReference("e"), Lifetime::until_canceled, true,
               SelfTrade::cancel_taking},
    CancelAll{AccountId("1"), {}},
    CancelAll{AccountId("1"), SymbolName("a")},
    ReplaceOrder{AccountId("1"), Side::buy, UINT64_MAX, Shares::from_units(1),
                 parse_price("92233720367.99999999").value},
    ReplaceOrder{AccountId(std::string(64, '9')), Side::sell, 0,
                 parse_shares("92233720367.99999999").value, Price::from_units(1),
                 OrderReference(std::string(64, '-'))},
};
const Totals totals{7, 8, Cash::whole(9), Timestamp{10}, 0xDEADBEEFCAFEF00Du};

std::string encode(Timestamp time, const std::vector<Command>& commands) {
  JournalWriter writer;
  writer.begin(time);
  for (const Command& command : commands) writer.add(command);
  return std::string(writer.finish(totals));
}

}  // namespace

TEST_CASE("a journal record decodes to what was written, and encodes to the same bytes again") {
  const std::string payload = encode(Timestamp{1'795'256'991'024'616}, every_kind);
  const JournalRecord record = decode_journal_record(payload);
  CHECK(record.time == Timestamp{1'795'256'991'024'616});
  CHECK((record.orders == totals.orders && record.executions == totals.executions &&
         record.digest == totals.digest));
  REQUIRE(record.commands.size() == every_kind.size());
  CHECK(encode(record.time, record.commands) == payload);
  CHECK(std::get<CreateAccount>(record.commands[0]).key == some_key);
  CHECK_FALSE(std::get<CreateAccount>(record.commands[1]).key.has_key());
  for (std::size_t i = 3; i < every_kind.size(); ++i) CHECK(record.commands[i] == every_kind[i]);
}

TEST_CASE("an account without a key is written as before there were any") {
  const std::string payload =
      encode(Timestamp{1}, {CreateAccount{AccountId("7"), Cash::from_units(5)}});
  const std::string before(
      "\x01\x01\x01\x00\x01"
      "7\x05\x00\x07\x08\x0D\xF0\xFE\xCA\xEF\xBE\xAD\xDE",
      18);
  CHECK(payload.substr(0, payload.size() - 4) == before);
  CHECK(
      encode(Timestamp{1}, {CreateAccount{AccountId("7"), Cash::from_units(5), some_key}}).size() ==
      payload.size() + 47);
}

TEST_CASE("a placement of 0 shares is written as the creation of its symbol") {
  CHECK(encode(Timestamp{1}, {PlaceShares{SymbolName("a"), AccountId("1"), Shares()}}) ==
        encode(Timestamp{1}, {CreateSymbol{SymbolName("a")}}));
}

TEST_CASE("a replace is written with its order or its reference") {
  using namespace std::string_literals;
  // Version 1, time 1, one command of kind 12; behind it the totals, as above.
  const auto command = [](const ReplaceOrder& replace) {
    const std::string payload = encode(Timestamp{1}, {replace});
    REQUIRE(payload.substr(0, 4) == "\1\1\1\x0C");
    return payload.substr(4, payload.size() - 4 - 14);
  };
  CHECK(command({AccountId("7"), Side::sell, 300, Shares::from_units(3), Price::from_units(128)}) ==
        "\0017\xAC\2\0\1\3\x80\1"s);
  CHECK(command({AccountId("7"), Side::buy, 0, Shares::from_units(3), Price::from_units(4),
                 OrderReference("ab")}) == "\0017\0\2ab\0\3\4"s);
}

TEST_CASE("an order takes about twenty bytes in the journal") {
  const std::vector<Command> orders(
      100, PlaceOrder{AccountId("100001"), SymbolName("SPY"), Side::buy, Shares::whole(100),
                      parse_price("127.5").value});
  CHECK(encode(Timestamp{1'795'256'991'024'616}, orders).size() < 100 * 25);
}

TEST_CASE("a record with any bit flipped, cut short or grown is refused") {
  const std::string payload = encode(Timestamp{1}, every_kind);
  for (std::size_t bit = 0; bit < payload.size() * 8; ++bit) {
    std::string bad = payload;
    bad[bit / 8] = char(bad[bit / 8] ^ (1 << (bit % 8)));
    REQUIRE_THROWS_AS(decode_journal_record(bad), StoreCorrupt);
  }
  for (std::size_t size = 0; size < payload.size(); ++size)
    REQUIRE_THROWS_AS(decode_journal_record(payload.substr(0, size)), StoreCorrupt);
  CHECK_THROWS_AS(decode_journal_record(payload + '\0'), StoreCorrupt);
}

TEST_CASE("a record with a right checksum is refused if JournalWriter cannot have written it") {
  using namespace std::string_literals;
  // Version, time 1, one command, then orders 0, executions 0 and a digest.
  const auto record = [](const std::string& time, const std::string& count,
                         const std::string& commands) {
    return sealed("\1" + time + count + commands + std::string(10, '\0'));
  };
  const std::string symbol = "\1\1S";
  CHECK(decode_journal_record(record("\1", "\1", symbol)).commands.size() == 1);
  CHECK(decode_journal_record(record(std::string(9, '\x80') + '\1', "\1", symbol)).time ==
        Timestamp{INT64_MIN});
  const std::string overlong = "an overlong number",
                    no_account = "a text that is not an account id";
  const struct {
    std::string time, count, commands, problem;
  } refused[] = {{"\x81\0"s, "\1", symbol, overlong},                      // 1 in two bytes
                 {std::string(9, '\x80') + '\2', "\1", symbol, overlong},  // 2^64
                 {"\1", "\1", "\1\0"s, "a text that is not a symbol"},
                 {"\1", "\1", "\1\1-", "a text that is not a symbol"},
                 {"\1", "\1", "\4\1x\1", no_account},
                 // 2^60: no memory is reserved for a count that the record only claims
                 {"\1", std::string(8, '\x80') + '\x10', symbol, no_account}};
  for (const auto& [time, count, commands, problem] : refused)
    CHECK_THROWS_WITH(decode_journal_record(record(time, count, commands)),
                      "journal record has " + problem);

  const auto replace = [&](const std::string& fields) {
    return record("\1", "\1", "\x0C\0017"s + fields);
  };
  CHECK(decode_journal_record(replace("\5\0\1\3\4"s)).commands.size() == 1);
  CHECK(decode_journal_record(replace("\0\1a\0\3\4"s)).commands.size() == 1);
  for (const std::string& two_or_none : {"\5\1a\1\3\4"s, "\0\0\1\3\4"s})
    CHECK_THROWS_WITH(decode_journal_record(replace(two_or_none)),
                      "journal record replaces no order, or two");
  for (const std::string& zero : {"\5\0\1\0\4"s, "\5\0\1\3\0"s})
    CHECK_THROWS_WITH(decode_journal_record(replace(zero)),
                      "journal record has a number out of range");
  CHECK_THROWS_WITH(decode_journal_record(replace("\0\1 \1\3\4"s)),
                    "journal record has a text that is not an order reference");
}

TEST_CASE("a record with a right checksum and unknown values is of a newer version") {
  using namespace std::string_literals;
  const struct {
    std::string head, command, what;
  } unknown[] = {{"\2", "\1\1S", "version"},
                 {"\1", "\5\0011\1", "command"},
                 {"\1", "\x0D\0011\1", "command"},
                 {"\1", "\x0C\0017\5\0\2\3\4"s, "side"},
                 {"\1", "\x0A\0017\1S\0\1\1\3\0\0\0"s, "lifetime"},
                 {"\1", "\x0A\0017\1S\0\1\1\1\2\0\0"s, "flag"},
                 {"\1", "\x0A\0017\1S\0\1\1\1\0\3\0"s, "self-trade rule"}};
  for (const auto& [head, command, what] : unknown) {
    const std::string record = sealed(head + "\1\1" + command + std::string(10, '\0'));
    CHECK_THROWS_AS(decode_journal_record(record), StoreNewer);
    CHECK_THROWS_WITH(
        decode_journal_record(record),
        "journal record has an unknown " + what + ": a newer version of the server wrote it");
  }
}

TEST_CASE("random bytes are refused or decoded, and never crash") {
  std::mt19937_64 random(test_seed());
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes(random() % 64, 'x');
    for (char& c : bytes) c = char(random());
    // a checksum of 32 bits: one in 4e9 would pass
    CHECK_THROWS_AS(decode_journal_record(bytes), StoreCorrupt);
  }
}
