// Closed days and their moments, compared with an exchange that executes the same commands.
#include "days/day_desk.hpp"

#include <nlohmann/json.hpp>

#include "catch.hpp"
#include "support/journal_rows.hpp"
#include "support/recorded_day.hpp"

using namespace exchange;
using namespace exchange::testing;
using Json = nlohmann::json;

namespace {

const SymbolName symbol = RandomCommands::symbol(0);
const AccountId account = RandomCommands::account(1);

struct Desk : DayDesk {
  explicit Desk(std::vector<JournalRow> rows, BatchNumber newest = 0,
                const ReplayLimits& limits = {})
      : Desk(std::make_unique<ReplayLimits>(limits), std::move(rows), newest) {}
  Desk(std::unique_ptr<ReplayLimits> limits, std::vector<JournalRow> rows, BatchNumber newest)
      : DayDesk(std::make_unique<DaysInMemory>(std::move(rows), newest), *limits, [] {}),
        limits_(std::move(limits)) {}

  std::string text(std::uint64_t position, std::size_t changes = 1) {
    return found(moments({"monday", symbol, position, {}, changes, account}));
  }
  Json at(std::uint64_t position, std::size_t changes = 1) {
    return Json::parse(text(position, changes));
  }
  std::uint64_t position_at(Timestamp time) {
    return Json::parse(found(moments({"monday", symbol, 0, time, 1})))["state"]["position"];
  }
  static std::string found(const DayReply& answer) {
    INFO(answer.text);
    REQUIRE(unsigned(answer.status) == 200);
    return answer.text;
  }

 private:
  const std::unique_ptr<ReplayLimits> limits_;
};

std::string refusal(const DayReply& answer) {
  return std::to_string(unsigned(answer.status)) + " " + answer.text;
}
std::string refusal_of_summary(Desk desk) { return refusal(desk.summary("monday", {})); }

Json levels(const Exchange& engine, Side side) {
  Json all = Json::array();
  for (const Exchange::Depth& level : engine.depth(symbol, side))
    if (level.price != Price())  // market orders are not a level of the book
      all.push_back(Json::array({to_string(level.price),
                                 to_string(Shares::from_units(std::int64_t(level.shares_units))),
                                 level.orders}));
  return all;
}

// The state of a page that gets one state and then the changes.
struct Follower {
  Json state;

  static void change_levels(Json& levels, const Json& changed, bool is_bid) {
    for (const Json& level : changed) {
      std::erase_if(levels.get_ref<Json::array_t&>(),
                    [&](const Json& one) { return one[0] == level[0]; });
      if (level[2] != 0) levels.push_back(level);
    }
    std::sort(levels.begin(), levels.end(), [&](const Json& a, const Json& b) {
      const auto price = [](const Json& one) {
        return parse_price(one[0].get<std::string>()).value;
      };
      return is_bid ? price(a) > price(b) : price(a) < price(b);
    });
  }
  static void replace(Json& list, const Json& one, const char* name, bool is_there) {
    std::erase_if(list.get_ref<Json::array_t&>(),
                  [&](const Json& other) { return other[name] == one[name]; });
    if (is_there) list.push_back(one);
  }
  void take(const Json& change) {
    for (const char* member : {"position", "time_us"}) state[member] = change[member];
    if (change.contains("bids")) {
      change_levels(state["bids"], change["bids"], true);
      change_levels(state["asks"], change["asks"], false);
      for (const char* member : {"trading", "auction"})
        if (state.erase(member); change.contains(member)) state[member] = change[member];
      for (const Json& trade : change["trades"])
        state["trades"].insert(state["trades"].begin(), trade);
    }
    if (!change.contains("account")) return;
    Json& own = state["account"];
    if (own.is_null())
      own = {{"account", account.view()}, {"positions", Json::array()}, {"orders", Json::array()}};
    for (const char* member : {"balance", "reserved", "open_orders"})
      own[member] = change["account"][member];
    for (const Json& position : change["account"]["positions"])
      replace(own["positions"], position, "symbol", true);
    for (Json order : change["account"]["orders"]) {
      order.erase("canceled");
      replace(own["orders"], order, "order", order["open"] != "0");
    }
  }
  // Returns the state with its lists sorted by name, and without what the operator has set.
  static Json sorted(Json state) {
    Json& own = state["account"];
    if (own.is_null()) return state;
    for (const char* set : {"role", "access", "orders_max", "position_max", "name"}) own.erase(set);
    for (const char* list : {"orders", "positions"}) {
      const char* name = list[0] == 'o' ? "order" : "symbol";
      std::sort(own[list].begin(), own[list].end(),
                [&](const Json& a, const Json& b) { return a[name] < b[name]; });
    }
    return state;
  }
};

}  // namespace

TEST_CASE("each moment of a day is that of an exchange with the same commands") {
  const std::uint64_t seed = test_seed() + std::uint64_t(GENERATE(range(0, 5)));
  INFO("seed " << seed);
  const RecordedDay day = RecordedDay::random(seed, 400);
  Desk desk(day.rows);
  Exchange engine;
  for (std::uint64_t position = 0; position <= day.commands.size(); ++position) {
    INFO("position " << position);
    if (position > 0) {
      const auto& [command, time] = day.commands[position - 1];
      engine.apply(command, time);
    }
    const Json state = desk.at(position)["state"];
    REQUIRE(state["position"] == position);
    if (position > 0) REQUIRE(state["time_us"] == day.commands[position - 1].time.microseconds);
    REQUIRE(state["bids"] == levels(engine, Side::buy));
    REQUIRE(state["asks"] == levels(engine, Side::sell));
    for (const SymbolRow& row : engine.symbol_rows()) {
      if (!(row.name == symbol)) continue;
      REQUIRE(state.value("trading", "open") == to_string(row.trading));
      if (row.last_price != Price())
        REQUIRE(state["trades"][0]["price"] == to_string(row.last_price));
    }
    const Json& own = state["account"];
    if (own.is_null()) continue;
    REQUIRE(own["balance"] == to_string(engine.balance(account)));
    for (const Json& position_of : own["positions"])
      REQUIRE(position_of["shares"] ==
              to_string(
                  engine.position(account, SymbolName(position_of["symbol"].get<std::string>()))));
    for (const Json& order : own["orders"]) {
      const auto row = engine.order(order["order"]);
      REQUIRE((row && order["open"] == to_string(row->open)));
    }
  }
}

TEST_CASE("changes lead from each moment to the next ones, and a seek back finds the same") {
  const std::uint64_t seed = test_seed() + std::uint64_t(GENERATE(range(0, 5)));
  INFO("seed " << seed);
  const RecordedDay day = RecordedDay::random(seed, 800);
  ReplayLimits limits;
  limits.trades_kept_max = 1'000;
  Desk desk(day.rows, 0, limits);
  std::vector<std::string> forwards;
  Follower follower{desk.at(0)["state"]};
  for (bool is_end = false; !is_end;) {
    forwards.push_back(desk.text(follower.state["position"], 3));
    const Json next = Json::parse(forwards.back());
    REQUIRE(Follower::sorted(next["state"]) == Follower::sorted(follower.state));
    for (const Json& change : next["changes"]) follower.take(change);
    follower.state["position"] = next["until"];  // commands after the last change are of others
    follower.state["time_us"] = next["until_us"];
    is_end = next["end"];
  }
  CHECK(follower.state["position"] == day.commands.size());
  CHECK(forwards.size() > 20);
  for (; !forwards.empty(); forwards.pop_back()) {
    const std::uint64_t position = Json::parse(forwards.back())["state"]["position"];
    REQUIRE(desk.text(position, 3) == forwards.back());
  }
}

TEST_CASE("a time is behind the last command up to it") {
  const RecordedDay day = RecordedDay::random(7, 100);
  Desk desk(day.rows);
  const auto& commands = day.commands;
  const std::int64_t first_us = commands.front().time.microseconds;
  CHECK(desk.position_at({first_us - 1}) == 0);
  for (const std::size_t at : {99u, 50u, 0u, 70u}) {
    std::size_t last = at;
    while (last + 1 < commands.size() && commands[last + 1].time == commands[at].time) ++last;
    CHECK(desk.position_at(commands[at].time) == last + 1);
    CHECK(desk.position_at({commands[at].time.microseconds + 1}) == last + 1);
  }
  CHECK(desk.position_at({INT64_MAX}) == 100);
  CHECK(desk.at(1'000)["state"]["position"] == 100);  // a moment after the end shows the end
}

TEST_CASE("the summary of a day counts trades by time, and marks each change of trading") {
  RecordedDay day;
  const AccountId one("1"), two("2");
  const SymbolName spy("SPY");
  const auto at = [](int second) { return Timestamp{second * 1'000'000}; };
  const auto trade = [&](int second) {
    day.execute(PlaceOrder{one, spy, Side::buy, Shares::whole(1), Price::whole(5)}, at(second));
    day.execute(PlaceOrder{two, spy, Side::sell, Shares::whole(1), Price::whole(5)}, at(second));
    day.end_batch();
  };
  const auto set = [&](int second, Trading trading) {
    SetInstrument command{spy};
    command.trading = trading;
    day.execute(command, at(second));
    day.end_batch();
  };
  day.execute(CreateAccount{one, Cash::whole(1'000)}, at(1));
  day.execute(CreateAccount{two, Cash()}, at(1));
  day.execute(PlaceShares{spy, two, Shares::whole(10)}, at(1));
  day.end_batch();
  trade(2);
  set(3, Trading::halted);
  set(4, Trading::open);
  trade(241);
  trade(241);
  Desk desk(day.rows);
  CHECK(Json::parse(Desk::found(desk.list())) == Json{{"days",
                                                       {{{"day", "monday"},
                                                         {"first_time_us", 1'000'000},
                                                         {"last_time_us", 241'000'000},
                                                         {"whole", true}}}}});
  Json bins = Json::array();
  for (int i = 0; i < 240; ++i) bins.push_back(i == 0 ? 1 : i == 239 ? 2 : 0);
  const auto mark = [](int position, int second, const char* trading) {
    return Json{{"position", position}, {"time_us", second * 1'000'000}, {"trading", trading}};
  };
  const Json of_day{{"day", "monday"},
                    {"commands", 11},
                    {"first_time_us", 1'000'000},
                    {"last_time_us", 241'000'000},
                    {"symbols", {{{"symbol", "SPY"}, {"trades", 3}}}}};
  CHECK(Json::parse(Desk::found(desk.summary("monday", {}))) == of_day);
  Json of_symbol = of_day;
  of_symbol.update({{"symbol", "SPY"},
                    {"bins", 240},
                    {"trades_of_bin", bins},
                    {"marks", {mark(6, 3, "halted"), mark(7, 4, "open")}}});
  CHECK(Json::parse(Desk::found(desk.summary("monday", spy))) == of_symbol);
}

TEST_CASE("a day that cannot be replayed says why, and names the batch") {
  const RecordedDay day = RecordedDay::random(3, 200);
  const auto edited = [&](const std::function<void(std::vector<JournalRow>&)>& edit) {
    std::vector<JournalRow> rows = day.rows;
    edit(rows);
    return rows;
  };
  using Rows = std::vector<JournalRow>;
  const std::string monday = "409 the day monday ",
                    damaged = monday + "is damaged: journal batch 9";
  CHECK_THAT(refusal_of_summary(
                 Desk(edited([](Rows& rows) { rows.erase(rows.begin(), rows.begin() + 4); }))),
             contains_text(monday + "cannot be replayed: its journal begins with batch 5"));
  CHECK_THAT(refusal_of_summary(Desk(edited([](Rows& rows) { rows[8].payload[3] ^= 1; }))),
             contains_text(damaged + ": "));
  CHECK(refusal_of_summary(Desk(edited([](Rows& rows) { rows.erase(rows.begin() + 8); }))) ==
        damaged + " is missing: the next is 10");
  CHECK_THAT(refusal_of_summary(Desk(edited([](Rows& rows) {
               std::string body = rows[8].payload.substr(0, rows[8].payload.size() - 4);
               body.back() = char(body.back() ^ 1);  // of the digest
               rows[8].payload = sealed(body);
             }))),
             contains_text(damaged + ": the replay differs"));
  CHECK(refusal_of_summary(Desk(day.rows, day.rows.size() + 2)) ==
        monday + "is damaged: journal batch " + std::to_string(day.rows.size() + 2) +
            " is missing, and was acknowledged");
  ReplayLimits few;
  few.commands_max = 199;
  CHECK_THAT(refusal_of_summary(Desk(day.rows, 0, few)),
             contains_text(monday + "cannot be replayed: it has more than 199 commands"));
  ReplayLimits small;
  small.bytes_max = 1;
  CHECK_THAT(refusal_of_summary(Desk(day.rows, 0, small)),
             contains_text(monday + "cannot be replayed: its open orders and accounts take more"));
  Desk broken(edited([](Rows& rows) { rows[8].payload.pop_back(); }));
  CHECK_THAT(Desk::found(broken.list()), contains_text("\"whole\":true"));  // it reads two rows
  CHECK(broken.replay() == nullptr);
}

TEST_CASE("unknown days and symbols are refused; a day without commands is empty") {
  Desk desk(RecordedDay::random(3, 50).rows);
  CHECK(refusal(desk.summary("tuesday", {})) == "404 there is no closed day 'tuesday'");
  CHECK(refusal(desk.summary("monday", SymbolName("NONE"))) ==
        "404 unknown symbol 'NONE' on this day");
  CHECK(desk.moments({"monday", SymbolName("NONE")}).code == "unknown_symbol");
  Desk empty{std::vector<JournalRow>()};
  CHECK(Json::parse(Desk::found(empty.list()))["days"][0]["first_time_us"].is_null());
  CHECK(Json::parse(Desk::found(empty.summary("monday", {})))["commands"] == 0);
}
