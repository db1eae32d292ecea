#include "catch.hpp"

#include "journal/journal_record.hpp"
#include "store/store.hpp"
#include "support/journal_rows.hpp"

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
    PlaceShares{SymbolName("a"), AccountId("1"), Shares()},
    CancelAll{AccountId("1"), {}},
    CancelAll{AccountId("1"), SymbolName("a")},
    ReplaceOrder{AccountId("1"), Side::buy, UINT64_MAX, Shares::from_units(1),
                 parse_price("92233720367.99999999").value},
    ReplaceOrder{AccountId(std::string(64, '9')), Side::sell, 0,
                 parse_shares("92233720367.99999999").value, Price::from_units(1),
                 OrderReference(std::string(64, '-'))},
    SetAccount{.account = AccountId("1"), .name = AccountName("")},
    SetAccount{
        .account = AccountId("1"), .orders_max = 1, .name = AccountName(std::string(40, 'n'))},
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
  CHECK(record.commands == every_kind);
}

// The pinned bytes must not change: servers read the records of earlier servers.
TEST_CASE("the form of a command in the journal") {
  using namespace std::string_literals;
  const AccountId account("7");
  const SymbolName symbol("S");
  const Shares three = Shares::from_units(3);
  const Price price = Price::from_units(128);
  PlaceOrder every_term{account, symbol, Side::sell,
                        three,   price,  OrderReference("ab"),
                        {},      true,   SelfTrade::cancel_taking};
  every_term.lifetime = Lifetime::fill_or_kill;
  every_term.symbol_must_exist = true;
  const struct {
    Command command;
    std::string bytes;  // kind, fields present, fields
  } forms[] = {
      {CreateAccount{account, Cash()}, "\0\0\0017"s},
      {CreateAccount{account, Cash::from_units(5)}, "\0\2\0017\5\0"s},
      {CreateAccount{account, Cash(), some_key}, "\0\1\0017\x0E\x08\1\1\2\3"s +
                                                     std::string(13, '\0') + "\xFF\0\xFE"s +
                                                     std::string(25, '\0')},
      {CreateSymbol{symbol}, "\1\0\1S"s},
      {PlaceShares{symbol, account, three}, "\2\0\1S\0017\3"s},
      {PlaceOrder{account, symbol, Side::buy, three, price}, "\3\x20\0017\1S\3\x80\1"s},
      {PlaceOrder{account, symbol, Side::sell, three, price}, "\3\x21\0017\1S\1\3\x80\1"s},
      {every_term, "\3\x7F\0017\1S\1\2\2\3\x80\1\2ab"s},
      {CancelOrder{account, 300}, "\4\1\0017\xAC\2"s},
      {CancelOrder{account, 0, OrderReference("ab")}, "\4\2\0017\2ab"s},
      {CancelAll{account, {}}, "\6\0\0017"s},
      {CancelAll{account, symbol}, "\6\1\0017\1S"s},
      {ReplaceOrder{account, Side::sell, 300, three, price}, "\7\7\0017\1\xAC\2\3\x80\1"s},
      {ReplaceOrder{account, Side::buy, 0, three, price, OrderReference("ab")},
       "\7\x0C\0017\3\x80\1\2ab"s},
  };
  for (const auto& [command, bytes] : forms) {
    INFO("kind " << command.index() << ", " << bytes.size() << " bytes");
    const std::string payload = encode(Timestamp{1}, {command});
    CHECK(payload.substr(0, 3) == std::string(1, char(store_format)) + "\1\1");
    CHECK(payload.substr(3, payload.size() - 3 - 14) == bytes);
    const JournalRecord record = decode_journal_record(payload);
    CHECK(record.commands.at(0) == command);
  }
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
  // Format 100, time 1, one command, then orders 0, executions 0 and a digest.
  const auto record = [](const std::string& time, const std::string& count,
                         const std::string& commands) {
    return sealed("d" + time + count + commands + std::string(10, '\0'));
  };
  const std::string symbol = "\1\0\1S"s;
  CHECK(decode_journal_record(record("\1", "\1", symbol)).commands.size() == 1);
  CHECK(decode_journal_record(record(std::string(9, '\x80') + '\1', "\1", symbol)).time ==
        Timestamp{INT64_MIN});
  const std::string overlong = "an overlong number",
                    no_account = "a text that is not an account id";
  const struct {
    std::string time, count, commands, problem;
  } refused[] = {{"\x81\0"s, "\1", symbol, overlong},                      // 1 in two bytes
                 {std::string(9, '\x80') + '\2', "\1", symbol, overlong},  // 2^64
                 {"\1", "\1", "\1\0\0"s, "a text that is not a symbol"},
                 {"\1", "\1", "\1\0\1-"s, "a text that is not a symbol"},
                 {"\1", "\1", "\4\1\1x\1", no_account},
                 // 2^60: no memory is reserved for a count that the record only claims
                 {"\1", std::string(8, '\x80') + '\x10', symbol, no_account}};
  for (const auto& [time, count, commands, problem] : refused)
    CHECK_THROWS_WITH(decode_journal_record(record(time, count, commands)),
                      "journal record has " + problem);

  const struct {
    std::string command, problem;
  } not_written[] = {
      {"\7\7\0017\1\5\0\4"s, "a command that never executes"},       // 0 shares
      {"\7\3\0017\1\5\3"s, "a command that never executes"},         // no limit
      {"\7\x0F\0017\1\5\3\4\1a"s, "a command that never executes"},  // order and reference
      {"\7\5\0017\1\3\4"s, "a command that never executes"},         // neither
      {"\4\0\0017"s, "a command that never executes"},
      {"\3\2\0017\1S\2\3"s, "a command that never executes"},  // market, fill or kill
      {"\3\x20\0017\1S\0\4"s, "a command that never executes"},
      {"\5\1\0017\5"s, "a command that never executes"},  // a query
      {"\4\1\0017\0"s, "an empty field that is marked as present"},
      {"\3\x21\0017\1S\0\3\4"s, "an empty field that is marked as present"},
      {"\7\x0C\0017\3\4\1 "s, "a text that is not an order reference"},
      {"\0\1\0017"s + std::string(47, '\0'), "a key without a hash"},
  };
  for (const auto& [command, problem] : not_written)
    CHECK_THROWS_WITH(decode_journal_record(record("\1", "\1", command)),
                      "journal record has " + problem);
}

TEST_CASE("a record with a right checksum and unknown values is of a newer version") {
  using namespace std::string_literals;
  const struct {
    std::string command, what;
  } unknown[] = {{std::string(1, char(std::variant_size_v<Command>)) + "\1\0011\1", "command"},
                 {"\1\1\1S", "field of a command"},
                 {"\3\xA0\x80\x80\1\0017\1S\3\4"s, "field of a command"},
                 {"\3\x21\0017\1S\2\3\4"s, "value"},
                 {"\3\x22\0017\1S\3\3\4"s, "value"}};
  const auto record = [](const std::string& format, const std::string& command) {
    return sealed(format + "\1\1" + command + std::string(10, '\0'));
  };
  for (const auto& [command, what] : unknown) {
    CHECK_THROWS_AS(decode_journal_record(record("d", command)), StoreOtherVersion);
    CHECK_THROWS_WITH(decode_journal_record(record("d", command)),
                      "journal record has an unknown " + what +
                          ": a newer version of the server wrote it; start that version");
  }
  const std::string symbol = "\1\0\1S"s;
  constexpr int next = store_format + 1;
  CHECK_THROWS_WITH(decode_journal_record(record(std::string(1, char(next)), symbol)),
                    "journal record was written by version " + std::to_string(next / 100) + "." +
                        std::to_string(next % 100) + " or newer: start that version");
  CHECK_THROWS_WITH(decode_journal_record(record("\2", symbol)),
                    contains_text("journal record was written by a version before 1.0: "));
}
