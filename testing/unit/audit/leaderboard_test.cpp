// exchange-audit builds the leaderboard from the journal alone: it equals that of the tables.
#include "unit/audit/audited_store.hpp"

using namespace exchange;
using namespace exchange::audit;
using namespace exchange::testing;

namespace {

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
