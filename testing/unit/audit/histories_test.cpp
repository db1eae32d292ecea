// exchange-audit of stores with a certain history. It follows orders through their replacements,
// builds the leaderboard from the journal alone, and needs no memory for closed orders: of these it
// audits ten million with EXCHANGE_NIGHTLY=1.

#include <fstream>

#include "support/server_process.hpp"
#include "unit/audit/audited_store.hpp"

using namespace exchange;
using namespace exchange::audit;
using namespace exchange::testing;

namespace {

const AccountId buyer("1"), seller("2");
const SymbolName spy("SPY");

Command order(const AccountId& account, Side side, int shares, int limit) {
  return PlaceOrder{account, spy, side, Shares::whole(shares), Price::whole(limit)};
}
Command replace(OrderId order, int shares, int limit) {
  return ReplaceOrder{buyer, Side::buy, order, Shares::whole(shares), Price::whole(limit)};
}

// Makes a batch for each command, with the number that it gets.
const std::vector<Command> history = {
    CreateAccount{buyer, Cash::whole(1'000)},
    PlaceShares{spy, seller, Shares::whole(100)},
    order(buyer, Side::buy, 10, 5),   // 1
    order(buyer, Side::buy, 3, 5),    // 2
    replace(1, 8, 5),                 // 3: keeps its place
    order(seller, Side::sell, 2, 5),  // 4: execution 1, with order 1
    replace(1, 12, 5),                // 5: behind order 2
    order(seller, Side::sell, 4, 5),  // 6: executions 2 with order 2, 3 with order 1
    order(seller, Side::sell, 5, 7),  // 7
    replace(1, 12, 7),                // 8: takes order 7, execution 4
    replace(1, 9, 7),                 // 9: keeps its place
    order(buyer, Side::buy, 1, 1),    // 10
    replace(10, 2, 1),                // 11
    CancelOrder{.account = buyer, .order = 10},
};

struct Replaced : AuditedStore {
  // Commits the history, and projects the results of the first `projected` commands.
  void make(std::size_t projected = history.size()) {
    SqliteStore store(path);
    store.open();
    store.tables().load();
    Writer writer(store);
    writer.commit({CreateAccount{seller, Cash()}});
    for (std::size_t at = 0; at < history.size(); ++at) {
      REQUIRE(changed_state(writer.commit({history[at]}).front()));
      if (at + 1 == projected) writer.project();
    }
  }
};

struct BoardStore : AuditedStore {
  // Makes random trades of all accounts, with two rounds among them and one batch that the tables
  // lack.
  BoardStore() {
    SqliteStore store(path);
    store.open();
    store.tables().load();
    Writer writer(store);
    std::mt19937_64 random(test_seed());
    const SymbolName symbol("SPY");
    std::vector<Command> commands;
    for (int i = 0; i < accounts; ++i) {
      const AccountId id(std::to_string(1000 + i));
      commands.push_back(CreateAccount{id, Cash::whole(1'000'000)});
      commands.push_back(PlaceShares{symbol, id, Shares::whole(1'000)});
      if (i % 2 == 0) commands.push_back(SetAccount{.account = id, .name = AccountName("old")});
    }
    writer.commit(commands);
    for (int batch = 0; batch < 20; ++batch) {
      commands.clear();
      for (int i = 0; batch == 7 && i < accounts; i += 2)
        commands.push_back(SetAccount{.account = AccountId(std::to_string(1000 + i)),
                                      .name = AccountName(i == 4 ? "" : shown_name(i))});
      if (batch == 5 || batch == 10) commands.push_back(BeginRound{OrderReference("round")});
      for (int i = 0; i < 30; ++i)
        commands.push_back(PlaceOrder{AccountId(std::to_string(1000 + random() % accounts)), symbol,
                                      random() % 2 == 0 ? Side::buy : Side::sell,
                                      Shares::whole(1 + std::int64_t(random() % 9)),
                                      Price::whole(90 + std::int64_t(random() % 20))});
      writer.commit(commands);
      if (batch % 7 == 0) writer.project();
    }
    writer.project();
    Leaderboard board;
    for (const RoundRow& row : store.tables().load().rows.rounds) board.add(row);
    store.tables().read_trades(board.rounds().front().executions_before,
                               [&](const Leaderboard::Trade& trade) { board.add(trade); });
    board.update();
    const Rows tables = store.tables().load().rows;
    std::map<AccountNumber, AccountName> names;
    for (const AccountRulesRow& row : tables.account_rules) names[row.account] = row.name;
    for (std::uint64_t round = 0; round <= 2; ++round)
      for (const bool with_ids : {false, true})
        of_tables[with_ids].push_back(
            standings_csv(*board.standings(round), [&](AccountNumber number) {
              return ShownAccount(tables.accounts[number].id.view(), names[number].view(),
                                  with_ids);
            }));
  }
  static std::string shown_name(int account) { return "Zo\u00eb, " + std::to_string(account); }
  static constexpr int accounts = 7;
  std::vector<std::string> of_tables[2];  // the second with the ids of accounts that have names
};

}  // namespace

TEST_CASE_METHOD(Replaced,
                 "a store with replaced orders is clean, and its replacements are compared") {
  make();
  const Audit result = audit::audit({.store = url});
  CHECK(text_of(result).ends_with("clean: no violation\n"));
  CHECK(result.findings.not_checked().empty());
  CHECK_THAT(text_of(result), contains_text("  orders: 6\n  open orders: 1\n  replacements: 5\n"));
  // 2 accounts, 1 symbol, 2 positions, 6 orders, 4 executions, 5 replacements, the totals
  CHECK_THAT(text_of(result), contains_text("  rows compared with the replay: 21\n"));
}

TEST_CASE_METHOD(Replaced, "the rest of a pruned journal is replayed on orders in their places") {
  make(7);  // order 1 is open behind order 2, and the next sell takes both
  keep(8, UINT64_MAX);
  finds("  batches replayed: 7\n");
  finds_nothing();
}

TEST_CASE_METHOD(Replaced, "what is wrong with a replacement is found, with its row") {
  make();
  const auto check = [&](int number, std::vector<Planted> changes) {
    check_each_found("order_replacements " + std::to_string(number), "number", std::move(changes));
  };
  check(3, {
               {"order_id = 99", "order_id 99 does not exist"},
               {"order_id = 4", "order_id is not below its number"},
               {"shares_e8 = 0", "shares not above zero, or limit below zero"},
               {"limit_e8 = -1", "shares not above zero, or limit below zero"},
               {"limit_e8 = 'much'", "limit_e8 is not an integer"},
               {"executions_before = 1", "before an execution that it counts as earlier"},
               {"keeps_place = 2", "keeps_place is neither 0 nor 1"},
               {"keeps_place = 0",
                "keeps_place is false, but the limit is the same and the amount no larger"},
           });
  check(5, {
               {"keeps_place = 1",
                "keeps_place is true, but the limit is another or the amount larger"},
               {"time_us = 1", "before the previous order"},
               {"executions_before = 3", "before an execution that it counts as earlier"},
           });
  check(
      8,
      {
          {"keeps_place = 1", "keeps_place is true, but the limit is another or the amount larger"},
          {"executions_before = 0", "executions_before is below that of the previous replacement"},
          {"shares_e8 = 300000000", "its order had nothing open"},
      });
  check(9, {
               {"executions_before = 5", "executions_before is above the number of executions"},
               {"time_us = 1", "before the previous replacement"},
               {"time_us = time_us + 86400000000", "has a time after that of the newest command"},
           });
  check_each_found({
      {"UPDATE order_replacements SET number = 2 WHERE number = 3",
       "[tables] order_replacements 2: its number is the id of an order"},
      {"UPDATE order_replacements SET shares_e8 = 200000000 WHERE number = 8",
       "[tables] order_replacements 5: its order had executed that much already"},
      {"UPDATE orders SET shares_e8 = 800000000 WHERE id = 1",
       "[tables] order_replacements 9: its order had executed that much already"},
      {"UPDATE orders SET canceled_at_us = opened_at_us WHERE id = 10",
       "[tables] order_replacements 11: after its order was canceled"},
      {"UPDATE order_replacements SET time_us = time_us + 86400000000 WHERE number = 5",
       "[tables] orders 6: opened before the previous replacement"},
      {"DELETE FROM order_replacements WHERE number = 5",
       "[tables] orders 5: is missing; no replacement has such a number"},
      {"DELETE FROM order_replacements WHERE number IN (8, 9)",
       "[tables] orders 8: is missing, and the rows up to 9; no replacement has such a number"},
      {"DELETE FROM order_replacements WHERE number = 11",
       "[tables] orders 11: is missing: 11 ids were given"},
      {"INSERT INTO order_replacements SELECT 12, order_id, shares_e8, limit_e8, keeps_place, "
       "executions_before, time_us FROM order_replacements WHERE number = 11",
       "[tables] order_replacements 12: should not be there: only 11 ids were given"},
  });
}

TEST_CASE_METHOD(Replaced, "executions are compared with what their orders were at that time") {
  make();
  check_each_found({
      // Order 1 takes execution 4 with the limit 7, which replacement 8 gave it.
      {"UPDATE order_replacements SET executions_before = 4 WHERE number = 8",
       "[tables] executions 4: its price is beyond the limit of its order (order 1)"},
      {"UPDATE order_replacements SET limit_e8 = 400000000 WHERE number = 5",
       "[tables] executions 1: its price is beyond the limit of its order (order 1)"},
      {"UPDATE order_replacements SET limit_e8 = 600000000 WHERE number = 8",
       "[tables] executions 3: its price is not that of the order that was resting (order 1)"},
      {"UPDATE order_replacements SET time_us = time_us + 1 WHERE number = 8",
       "[tables] executions 4: not at the time of the order that took it (order 1)"},
      // In its earlier place, order 1 would have been the maker.
      {"UPDATE order_replacements SET keeps_place = 1 WHERE number = 8",
       "[tables] executions 4: not at the time of the order that took it (order 7)"},
      {"UPDATE order_replacements SET executions_before = 0 WHERE number = 5",
       "[tables] executions 1: before its order was replaced (order 1)"},
      {"UPDATE executions SET price_e8 = 600000000 WHERE id = 4",
       "[tables] executions 4: its price is not that of the order that was resting (order 7)"},
  });
}

TEST_CASE_METHOD(Replaced, "replacements that contradict the journal alone are found") {
  make();
  check_each_found({
      {"UPDATE order_replacements SET shares_e8 = 1100000000 WHERE number = 3",
       "[replay] order_replacements 3: shares_e8 is 1100000000, should be 1000000000"},
      {"UPDATE order_replacements SET limit_e8 = 200000000, keeps_place = 0 WHERE number = 11",
       "[replay] order_replacements 11: limit_e8 is 200000000, should be 100000000"},
      {"UPDATE order_replacements SET time_us = time_us - 1 WHERE number = 9",
       "[replay] order_replacements 9: time_us is "},
      {"UPDATE order_replacements SET order_id = 2 WHERE number = 3",
       "[replay] order_replacements 3: order_id is 2, should be 1"},
  });
}

TEST_CASE_METHOD(Replaced, "an acknowledged order is compared with all that it ever was") {
  const std::size_t projected = GENERATE(std::size_t(7), history.size());
  make(projected);
  const std::string file = folder / "acknowledged";
  const auto audit_of = [&](const std::string& line) {
    std::ofstream(file) << line << "\n";
    return text({.acknowledged_file = file});
  };
  for (const char* line :
       {"1 amount=10 limit=5", "1 amount=8 limit=5 executed=2", "1 amount=12 limit=5 open=1",
        "1 amount=12 limit=7", "1 amount=9 limit=7", "10 amount=1 limit=1",
        "10 amount=2 limit=1 canceled=2", "1 limit=5", "1 amount=9"})
    CHECK_THAT(audit_of(line), contains_text("clean: no violation"));
  const std::string problem = "[acknowledged] orders 1: ";
  CHECK_THAT(audit_of("1 amount=11 limit=5"),
             contains_text(problem + "has other shares than were acknowledged"));
  CHECK_THAT(audit_of("1 amount=9 limit=6"),
             contains_text(problem + "has another limit than was acknowledged"));
  CHECK_THAT(
      audit_of("1 amount=9 limit=5"),
      contains_text(problem +
                    "never had the shares and the limit that were acknowledged at the same time"));
  CHECK_THAT(audit_of("1 executed=9"), contains_text(problem + "has executed less"));
  CHECK_THAT(audit_of("2 open=2"), contains_text("clean: no violation"));
  CHECK_THAT(audit_of("10 open=1 canceled=1"),
             contains_text("[acknowledged] orders 10: has other canceled shares"));
}

TEST_CASE_METHOD(Replaced, "a complete list has replaced orders as they were sent or replaced") {
  const std::size_t projected = GENERATE(std::size_t(7), history.size());
  make(projected);
  const std::string file = folder / "acknowledged",
                    others = "2 account=1 symbol=SPY amount=3 limit=5\n";
  const auto audit_of = [&](const std::string& first, const std::string& last) {
    const std::string of = " account=1 symbol=SPY ";
    std::ofstream(file) << others << first.substr(0, first.find(' ')) << of
                        << first.substr(first.find(' ') + 1) << "\n"
                        << last.substr(0, last.find(' ')) << of << last.substr(last.find(' ') + 1)
                        << "\n";
    return text({.acknowledged_file = file, .complete = true});
  };
  for (const char* first : {"1 amount=10 limit=5", "1 amount=12 limit=7", "- amount=10 limit=5"})
    for (const char* last : {"10 amount=1 limit=1", "10 amount=2 limit=1", "- amount=1 limit=1"}) {
      INFO(first << ", " << last);
      CHECK_THAT(audit_of(first, last), contains_text("clean: no violation"));
    }
  CHECK_THAT(audit_of("- amount=9 limit=7", "10 amount=1 limit=1"),
             contains_text("[acknowledged] orders 1: is of account 1, which never sent it"));
  CHECK_THAT(audit_of("1 amount=10 limit=5", "- amount=2 limit=1"),
             contains_text("[acknowledged] orders 10: is of account 1, which never sent it"));
}

TEST_CASE_METHOD(BoardStore, "the leaderboard of the journal alone is that of the tables") {
  for (std::uint64_t round = 0; round <= 2; ++round) {
    for (const bool with_ids : {false, true}) {
      const Audit found =
          audit::audit({.store = url, .leaderboard = round, .leaderboard_ids = with_ids});
      CHECK(found.findings.violations() == 0);
      CHECK(found.leaderboard == of_tables[with_ids][round]);
      CHECK(found.leaderboard.find(",1003,,") != std::string::npos);
      CHECK(found.leaderboard.find(",1004,,") != std::string::npos);  // without a name again
      CHECK(found.leaderboard.find("\"Zo\u00eb, 2\"") != std::string::npos);
      CHECK((found.leaderboard.find("1002") != std::string::npos) == with_ids);
    }
  }
  finds("not checked: the leaderboard: there is no such round",
        {.store = url, .leaderboard = std::uint64_t(3)});
}

TEST_CASE_METHOD(BoardStore, "there is no leaderboard of a journal that was pruned") {
  keep(15, 21);
  finds("not checked: the leaderboard: it needs the whole journal",
        {.store = url, .leaderboard = std::uint64_t(0)});
  CHECK(audit::audit({.store = url, .leaderboard = std::uint64_t(0)}).leaderboard.empty());
}

TEST_CASE_METHOD(BoardStore, "a name that was changed in the tables is found") {
  check_each_found({{"UPDATE account_rules SET name = 'Eve' WHERE account = 2", "account_rules 2"},
                    {"UPDATE account_rules SET name = '' WHERE account = 2", "account_rules 2"},
                    {"UPDATE account_rules SET name = ' Eve' WHERE account = 2",
                     "is not a name of an account"}});
}

TEST_CASE_METHOD(BoardStore, "a round or an execution that was changed in the tables is found") {
  check_each_found(
      {{"UPDATE rounds SET executions_before = executions_before - 1 WHERE number = 2", "rounds 2"},
       {"UPDATE rounds SET name = 'other' WHERE number = 1", "rounds 1"},
       {"DELETE FROM rounds WHERE number = 2", "rounds 2"}});
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
TEST_CASE("memory of an audit is not measured under sanitizers") {
  WARN("skipped: sanitizers keep freed memory and shadow all");
}
#else
TEST_CASE("an audit of many closed orders needs no memory for them") {
  const OrderId orders = nightly() ? 10'000'000 : 200'000;
  constexpr OrderId orders_of_a_batch = 10'000;
  TemporaryFolder folder;
  const std::string path = folder.path() + "/x.db";
  {
    SqliteStore store(path);
    store.open();
    Writer writer(store);
    const AccountId buyer("1"), seller("2");
    const SymbolName symbol("SPY");
    std::vector<Command> commands = {CreateAccount{buyer, Cash::whole(1'000'000'000)},
                                     CreateAccount{seller, Cash::whole(0)},
                                     PlaceShares{symbol, seller, Shares::whole(100'000'000)}};
    for (OrderId placed = 0; placed < orders; placed += orders_of_a_batch) {
      for (OrderId i = 0; i < orders_of_a_batch; ++i)
        commands.push_back(PlaceOrder{i % 2 == 0 ? seller : buyer, symbol,
                                      i % 2 == 0 ? Side::sell : Side::buy, Shares::whole(1),
                                      Price::whole(1)});
      writer.commit(commands);
      writer.project();
      commands.clear();
    }
  }
  const RunResult result = run_program("exchange-audit", {"sqlite:" + path});
  INFO(result.output);
  CHECK(result.status == 0);
  CHECK_THAT(result.output, contains_text("  orders: " + std::to_string(orders) + "\n"));
  CHECK_THAT(result.output, contains_text("rows compared with the replay: " +
                                          std::to_string(orders + orders / 2 + 6)));
  std::printf("an audit of %llu closed orders took %ld KiB\n",
              static_cast<unsigned long long>(orders), result.memory_kib);
  CHECK(result.memory_kib < 64 * 1024);
}
#endif
