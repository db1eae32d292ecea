// exchange-audit --commands: writes each command of a journal as JSON, from which it can be
// rebuilt.
#include "audit/commands_json.hpp"

#include <nlohmann/json.hpp>
#include <sstream>

#include "unit/audit/audited_store.hpp"

using namespace exchange;
using namespace exchange::audit;
using namespace exchange::testing;
using nlohmann::json;

namespace {

// --- the way back ---

template <class Value>
Value value_of(Parsed<Value> parsed) {
  REQUIRE(parsed);
  return parsed.value;
}
void read(const json& from, bool& value) { value = from.get<bool>(); }
void read(const json& from, std::uint64_t& number) { number = from.get<std::uint64_t>(); }
void read(const json& from, Shares& shares) {
  shares = from == "0" ? Shares() : value_of(parse_shares(from.get<std::string>()));
}
void read(const json& from, Price& price) {
  price = from == "0" ? Price() : value_of(parse_price(from.get<std::string>()));
}
void read(const json& from, Cash& cash) { cash = value_of(parse_cash(from.get<std::string>())); }
void read(const json& from, KeyHash& key) {
  CHECK(from == true);
  key.log2_n = 14;
}
template <class Text>
requires requires { Text::size_max; }
void read(const json& from, Text& text) { text = Text(from.get<std::string>()); }
template <class Enum>
requires std::is_enum_v<Enum>
void read(const json& from, Enum& value) {
  bool found = false;
  for (std::size_t i = 0; i < enumerators<Enum>; ++i)
    if (to_string(Enum(i)) == from.get<std::string>()) value = Enum(i), found = true;
  CHECK(found);
}
template <class Optional>
requires requires(Optional value) { *value; }
void read(const json& from, Optional& value) {
  std::decay_t<decltype(*value)> held{};
  read(from, held);
  value = held;
}

template <class AnyCommand>
Command command_of(const json& members) {
  AnyCommand command;
  std::size_t known = 0;
  for_each_member<AnyCommand>([&](auto member) {
    if (!members.contains(member.name)) return;
    read(members[member.name], command.*member.pointer);
    ++known;
  });
  CHECK(members.size() == known);
  return command;
}
Command command_of(const json& object) {
  REQUIRE(object.size() == 1);
  std::optional<Command> found;
  boost::mp11::mp_for_each<boost::mp11::mp_iota_c<command_kinds>>([&](auto kind) {
    using Kind = std::variant_alternative_t<kind, Command>;
    if (object.contains(Kind::word)) found = command_of<Kind>(object[Kind::word]);
  });
  REQUIRE(found);
  return *found;
}

// --- a store ---

struct CommandsStore : AuditedStore {
  void commit(const std::vector<std::vector<Command>>& batches) const {
    SqliteStore store(path);
    store.open();
    store.tables().load();
    Writer writer(store);
    for (const std::vector<Command>& commands : batches) writer.commit(commands);
  }
  // Returns the written lines and, as the last one, the error.
  std::vector<std::string> lines() const {
    char* data = nullptr;
    std::size_t size = 0;
    std::FILE* const out = ::open_memstream(&data, &size);
    std::string error;
    try {
      write_commands(*open_source(url), out);
    } catch (const CannotRead& problem) {
      error = problem.what();
    }
    std::fclose(out);
    std::istringstream written(std::string(data, size) + error);
    std::free(data);
    std::vector<std::string> lines;
    for (std::string line; std::getline(written, line);) lines.push_back(line);
    return lines;
  }
};

const AccountId account("007");
const SymbolName symbol("SPY");

std::string line_of(Command command) {
  return json::parse(json_line(1, {{}, {std::move(command)}, 0, 0, 0}))["commands"][0].dump();
}

}  // namespace

TEST_CASE("each kind of command can be made again from its JSON") {
  RandomCommands random(test_seed(), true, true);
  for (int i = 0; i < 200; ++i) {
    std::vector<Command> commands;
    for (std::size_t kind = 0; kind < command_kinds; ++kind) {
      commands.push_back(draw_command(kind, random));
      if (auto* const set = std::get_if<SetKey>(&commands.back()))
        set->key.log2_n = i % 2 == 0 ? 14 : 0;
    }
    const JournalRecord record{random.next_time(), commands, random.below(UINT64_MAX),
                               random.below(UINT64_MAX), 0};
    const BatchNumber batch = random.below(UINT64_MAX);
    const std::string text = json_line(batch, record);
    INFO(text);
    REQUIRE(text.find('\n') == std::string::npos);
    const json line = json::parse(text);
    CHECK(line["batch"] == batch);
    CHECK(line["time_us"] == record.time.microseconds);
    CHECK(line["orders"] == record.orders);
    CHECK(line["executions"] == record.executions);
    std::vector<Command> again;
    for (const json& command : line["commands"]) again.push_back(command_of(command));
    CHECK(again == commands);
  }
}

TEST_CASE("commands as JSON leave out what is as usual, and the hash of a key") {
  CHECK(line_of(PlaceOrder{account, symbol, Side::buy, Shares::whole(5)}) ==
        R"({"order":{"account":"007","shares":"5","side":"buy","symbol":"SPY"}})");
  CHECK(line_of(CancelOrder{.account = account, .order = UINT64_MAX}) ==
        R"({"cancel":{"account":"007","order":18446744073709551615}})");
  KeyHash key{.log2_n = 14, .r = 8, .p = 1, .salt = {1}};
  CHECK(line_of(CreateAccount{account, Cash::from_units(1), key}) ==
        R"({"create_account":{"account":"007","balance":"0.0000000000000001","key":true}})");
  CHECK(line_of(SetKey{account, {}}) == R"({"set_key":{"account":"007"}})");
  // 0 and an empty name remove a rule: they differ from an unset field
  CHECK(line_of(SetInstrument{.tick = Price(), .trading = Trading::halted}) ==
        R"({"instrument":{"tick":"0","trading":"halted"}})");
  CHECK(line_of(SetAccount{.account = account, .orders_max = 0, .name = AccountName("")}) ==
        R"({"set_account":{"account":"007","name":"","orders_max":0}})");
}

TEST_CASE_METHOD(CommandsStore, "the lines of a store are its batches") {
  const PlaceOrder sell{account,
                        symbol,
                        Side::sell,
                        Shares::from_units(250'000'000),
                        Price::whole(127),
                        OrderReference("a"),
                        Lifetime::until_canceled,
                        true};
  commit({{CreateAccount{account, Cash::whole(1'000)},
           PlaceShares{symbol, account, Shares::whole(10)}},
          {sell, CancelAll{AccountId("9"), symbol}},  // this one is refused
          {PlaceOrder{account, symbol, Side::buy, Shares::whole(1), Price::whole(127)},
           CancelOrder{.account = account, .reference = OrderReference("a")}}});
  const auto found = lines();
  REQUIRE(found.size() == 3);
  const auto commands = [&](std::size_t line) {
    return found[line].substr(found[line].find("\"commands\""));
  };
  CHECK(found[0].starts_with(R"({"batch":1,"time_us":)"));
  CHECK(found[1].starts_with(R"({"batch":2,"time_us":)"));
  CHECK_THAT(found[1], contains_text(R"("orders":1,"executions":0,)"));
  CHECK_THAT(found[2], contains_text(R"("orders":2,"executions":1,)"));
  CHECK(json::parse(found[2])["time_us"].get<std::int64_t>() -
            json::parse(found[1])["time_us"].get<std::int64_t>() ==
        1'000'000);
  CHECK(commands(0) == R"("commands":[{"create_account":{"account":"007","balance":"1000"}},)"
                       R"({"place_shares":{"symbol":"SPY","account":"007","shares":"10"}}]})");
  CHECK(commands(1) == R"("commands":[{"order":{"account":"007","symbol":"SPY","side":"sell",)"
                       R"("post_only":true,"shares":"2.5","limit":"127","reference":"a"}}]})");
  CHECK(commands(2) ==
        R"("commands":[{"order":{"account":"007","symbol":"SPY","side":"buy",)"
        R"("shares":"1","limit":"127"}},{"cancel":{"account":"007","reference":"a"}}]})");
}

TEST_CASE_METHOD(CommandsStore, "a batch that cannot be decoded is named, after those before it") {
  commit({{CreateSymbol{symbol}}, {CreateSymbol{SymbolName("QQQ")}}});
  payload(2, [](std::string bytes) { return bytes.substr(0, bytes.size() - 1); });
  const auto found = lines();
  REQUIRE(found.size() == 2);
  CHECK(json::parse(found[0])["batch"] == 1);
  CHECK_THAT(found[1], contains_text("journal batch 2: journal record "));
}

TEST_CASE_METHOD(CommandsStore,
                 "commands of damaged files, or of a running server's, are refused") {
  commit({{CreateSymbol{symbol}}});
  {
    SqliteStore store(path);
    store.open();
    CHECK(lines() == std::vector{"a running server has locked " + journal});
  }
  flip_bit(journal, 60);
  auto found = lines();
  REQUIRE(found.size() == 1);
  CHECK_THAT(found[0], contains_text(journal + ": its header is damaged"));
  flip_bit(journal, 60);
  CHECK(json::parse(lines().at(0))["batch"] == 1);
  overwrite(path, 0, "SQLite format 3?");
  found = lines();
  REQUIRE(found.size() == 1);
  CHECK_THAT(found[0], contains_text(path));
}
