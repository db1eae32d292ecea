// exchange-audit makes the leaderboard from the journal alone: the same as that of the tables.
#include "unit/judge/audit/audited_store.hpp"

using namespace exchange;
using namespace exchange::audit;
using namespace exchange::testing;

namespace {

struct BoardStore : AuditedStore {
  // Random trades of all accounts with two rounds among them; a batch behind the tables.
  BoardStore() {
    SqliteStore store(path);
    store.open();
    store.load();
    Writer writer(store);
    std::mt19937_64 random(test_seed());
    const SymbolName symbol("SPY");
    std::vector<Command> commands;
    for (int i = 0; i < accounts; ++i) {
      const AccountId id(std::to_string(1000 + i));
      commands.push_back(CreateAccount{id, Cash::whole(1'000'000)});
      commands.push_back(PlaceShares{symbol, id, Shares::whole(1'000)});
    }
    writer.commit(commands);
    for (int batch = 0; batch < 20; ++batch) {
      commands.clear();
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
    for (const RoundRow& row : store.load().rows.rounds) board.add(row);
    store.read_trades(board.rounds().front().executions_before,
                      [&](const Leaderboard::Trade& trade) { board.add(trade); });
    board.update();
    for (std::uint64_t round = 0; round <= 2; ++round)
      of_tables.push_back(standings_csv(*board.standings(round), [](AccountNumber number) {
        return std::to_string(1000 + number);
      }));
  }
  static constexpr int accounts = 7;
  std::vector<std::string> of_tables;
};

}  // namespace

TEST_CASE_METHOD(BoardStore, "the leaderboard of the journal alone is that of the tables") {
  for (std::uint64_t round = 0; round <= 2; ++round) {
    const Audit found = audit::audit({.store = url, .leaderboard = round});
    CHECK(found.findings.violations() == 0);
    CHECK(found.leaderboard == of_tables[round]);
    CHECK(found.leaderboard.find("\n1,100") != std::string::npos);
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

TEST_CASE_METHOD(BoardStore, "a round or an execution that was changed in the tables is found") {
  check_each_found(
      {{"UPDATE rounds SET executions_before = executions_before - 1 WHERE number = 2", "rounds 2"},
       {"UPDATE rounds SET name = 'other' WHERE number = 1", "rounds 1"},
       {"DELETE FROM rounds WHERE number = 2", "rounds 2"}});
}
