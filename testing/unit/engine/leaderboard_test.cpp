// The leaderboard: a function of executions and rounds (docs/protocol.md, G1 to G3).
#include "engine/leaderboard.hpp"

#include <algorithm>
#include <map>
#include <random>

#include "catch.hpp"

using namespace exchange;

namespace {

Shares shares(std::int64_t whole) { return Shares::whole(whole); }
Price price(std::int64_t whole) { return Price::whole(whole); }
RoundRow round_of(std::uint64_t number, ExecutionId executions_before) {
  return {number, OrderReference("r"), executions_before, {}};
}
std::vector<Leaderboard::Standing> standings_in(const Leaderboard& board, std::uint64_t round) {
  const auto standings = board.standings(round);
  REQUIRE(standings);
  return *standings;
}
Cash profit_of(const Leaderboard& board, AccountNumber account) {
  const auto standings = standings_in(board, 0);
  const auto found = std::ranges::find(standings, account, &Leaderboard::Standing::account);
  REQUIRE(found != standings.end());
  return found->profit;
}
Leaderboard::Standing standing(std::uint64_t rank, AccountNumber account, std::int64_t profit,
                               std::int64_t volume, std::uint64_t trades, std::int64_t largest) {
  return {rank, account, Cash::whole(profit), shares(volume), trades, shares(largest)};
}

}  // namespace

TEST_CASE("profit is what trades brought, with what they left at the mark") {
  Leaderboard board;
  board.add(round_of(1, 0));
  board.add({1, 0, 7, 8, shares(10), price(5)});  // 7 buys of 8
  board.add({2, 0, 9, 7, shares(4), price(6)});   // 7 sells on
  board.update();
  CHECK(standings_in(board, 0) == std::vector{standing(1, 7, 10, 14, 2, 10),
                                              standing(2, 9, 0, 4, 1, 4),
                                              standing(3, 8, -10, 10, 1, 10)});
  CHECK(standings_in(board, 1) == standings_in(board, 0));
  CHECK_FALSE(board.standings(2));
  board.add({3, 0, 9, 8, shares(1), price(8)});  // worth more to all holders
  CHECK(standings_in(board, 0)[0] == standing(1, 7, 22, 14, 2, 10));
}

TEST_CASE("a round counts from its beginning, with what was held then at the prices of then") {
  Leaderboard board;
  board.add({1, 0, 7, 8, shares(10), price(5)});  // before any round
  board.add(round_of(1, 1));
  board.add({2, 0, 7, 8, shares(10), price(5)});
  board.add({4, 0, 7, 8, shares(1), price(7)});  // of the second round, which is known later
  CHECK(standings_in(board, 1) ==
        std::vector{standing(1, 7, 20, 11, 2, 11), standing(2, 8, -20, 11, 2, 11)});

  Leaderboard late;
  late.add(round_of(1, 1));
  late.add({2, 0, 7, 8, shares(10), price(5)});
  late.add(round_of(2, 3));
  late.add({4, 0, 7, 8, shares(1), price(7)});
  late.add(round_of(3, 4));
  late.update();
  CHECK(standings_in(late, 1) ==
        std::vector{standing(1, 7, 0, 10, 1, 10), standing(1, 8, 0, 10, 1, 10)});
  CHECK(standings_in(late, 2) ==
        std::vector{standing(1, 7, 20, 1, 1, 11), standing(2, 8, -20, 1, 1, 11)});
  CHECK(standings_in(late, 3) ==
        std::vector{standing(1, 7, 0, 0, 0, 11), standing(1, 8, 0, 0, 0, 11)});
  CHECK(standings_in(late, 0) ==
        std::vector{standing(1, 7, 20, 11, 2, 11), standing(2, 8, -20, 11, 2, 11)});
  CHECK(late.rounds().size() == 3);
}

TEST_CASE("what is held counts at the mean of a minute, which late executions hardly move") {
  const auto second = [](std::int64_t of) { return Timestamp{1'000'000 * of + 999'999}; };
  Leaderboard board;
  const auto profit = [&] { return profit_of(board, 7); };
  board.add(round_of(1, 0));
  board.add({1, 0, 7, 8, shares(1), price(100), second(1'000)});
  CHECK(profit() == Cash());
  board.add({2, 0, 7, 7, shares(9), price(900), second(1'000)});  // with itself: no mark
  CHECK(profit() == Cash());
  // Other accounts trade at another price, in the same second and ten seconds later.
  board.add({3, 0, 10, 9, shares(1), price(160), second(1'000)});
  CHECK(profit() == Cash::whole(60));
  board.add({4, 0, 10, 9, shares(1), price(270), second(1'010)});  // ten at 160, one at 270
  CHECK(profit() == Cash::whole(70));
  // After two minutes the mark is the earlier price, except for the last second.
  board.add({5, 0, 9, 10, shares(1), price(870), second(1'130)});
  CHECK(profit() == Cash::whole(180));
  // The clock of a server that took over may be behind.
  board.add({6, 0, 9, 10, shares(1), price(330), second(1'120)});
  CHECK(profit() == Cash::whole(171));
  for (std::int64_t at = 1; at < 60; ++at)
    board.add({ExecutionId(6 + at), 0, 9, 10, shares(1), price(330), second(1'130 + at)});
  CHECK(profit() == Cash::whole(230));
}

TEST_CASE("the mark is rounded down to a whole unit") {
  Leaderboard board;
  board.add(round_of(1, 0));
  board.add({1, 0, 7, 8, shares(1), Price::from_units(1), Timestamp{}});
  board.add({2, 0, 9, 8, shares(1), Price::from_units(3), Timestamp{2'000'000}});
  CHECK(profit_of(board, 7) == Cash());  // 1, 1 and 3 in three seconds: 1, not 5/3
}

TEST_CASE("an account gains nothing from itself, and what comes twice counts once") {
  Leaderboard board;
  board.add(round_of(1, 0));
  board.add(round_of(1, 0));
  board.add({1, 0, 7, 7, shares(10), price(5)});
  CHECK(standings_in(board, 0).empty());
  board.add({2, 0, 7, 8, shares(1), price(5)});
  board.add({2, 0, 7, 8, shares(1), price(5)});
  CHECK(standings_in(board, 0) ==
        std::vector{standing(1, 7, 0, 1, 1, 1), standing(1, 8, 0, 1, 1, 1)});
}

TEST_CASE("standings are written as CSV, with losses and fractions") {
  Leaderboard board;
  board.add(round_of(1, 0));
  board.add({1, 0, 7, 8, Shares::from_units(150'000'000), price(5)});
  board.add({2, 0, 9, 10, Shares::from_units(50'000'000), price(4)});
  const std::map<AccountNumber, std::pair<std::string, std::string>> accounts{
      {7, {"70", "Ada, \"the\" first"}},
      {8, {"80", ""}},
      {9, {"90", "Zo\u00eb"}},
      {10, {"100", ""}}};
  const auto csv = [&](bool with_ids) {
    return standings_csv(standings_in(board, 0), [&](AccountNumber number) {
      const auto& [id, name] = accounts.at(number);
      return ShownAccount(id, name, with_ids);
    });
  };
  const std::string columns = "rank,account,name,profit,volume,trades,largest_position\n";
  CHECK(csv(false) == columns +
                          "1,80,,1.5,1.5,1,1.5\n2,,Zo\u00eb,0,0.5,1,0.5\n"
                          "2,100,,0,0.5,1,0.5\n4,,\"Ada, \"\"the\"\" first\",-1.5,1.5,1,1.5\n");
  CHECK(csv(true) == columns +
                         "1,80,,1.5,1.5,1,1.5\n2,90,Zo\u00eb,0,0.5,1,0.5\n"
                         "2,100,,0,0.5,1,0.5\n4,70,\"Ada, \"\"the\"\" first\",-1.5,1.5,1,1.5\n");
}

TEST_CASE("rounds that are over are kept, but for the oldest") {
  Leaderboard board;
  const std::uint64_t rounds = Leaderboard::rounds_kept_max + 5;
  for (std::uint64_t number = 1; number <= rounds; ++number) board.add(round_of(number, 0));
  board.update();
  CHECK(board.standings(rounds));
  CHECK(board.standings(rounds - Leaderboard::rounds_kept_max));
  CHECK_FALSE(board.standings(rounds - Leaderboard::rounds_kept_max - 1));
  CHECK_FALSE(board.standings(rounds + 1));
}

// Trading alone creates no profit: what one account gains, other accounts lose.
TEST_CASE("the profits of random executions are what balances and positions say") {
  std::mt19937_64 random(test_seed());
  constexpr AccountNumber accounts = 6;
  constexpr SymbolNumber symbols = 3;
  for (int world = 0; world < 200; ++world) {
    Leaderboard board;
    Int128 cash[accounts] = {}, held[accounts][symbols] = {}, before[accounts] = {};
    Price last[symbols];
    std::uint64_t rounds = 0;
    const auto worth = [&](AccountNumber account) {
      Int128 units = cash[account];
      for (SymbolNumber symbol = 0; symbol < symbols; ++symbol)
        units += held[account][symbol] * last[symbol].units();
      return units;
    };
    for (ExecutionId id = 1; id <= 60; ++id) {
      if (id == 1 || random() % 15 == 0) {
        board.add(round_of(++rounds, id - 1));
        for (AccountNumber account = 0; account < accounts; ++account)
          before[account] = worth(account);
      }
      const auto buyer = AccountNumber(random() % accounts),
                 seller = AccountNumber(random() % accounts);
      const auto symbol = SymbolNumber(random() % symbols);
      const Shares amount = Shares::from_units(1 + std::int64_t(random() % 1'000'000'000));
      const Price at = Price::from_units(1 + std::int64_t(random() % 1'000'000'000));
      if (buyer != seller) last[symbol] = at;
      board.add({id, symbol, buyer, seller, amount, at});
      cash[buyer] -= Int128(amount.units()) * at.units();
      cash[seller] += Int128(amount.units()) * at.units();
      held[buyer][symbol] += amount.units();
      held[seller][symbol] -= amount.units();
    }
    Int128 sum = 0;
    for (const Leaderboard::Standing& one : standings_in(board, 0)) {
      CHECK(one.profit.units() == worth(one.account));
      sum += one.profit.units();
    }
    CHECK(sum == 0);
    for (const Leaderboard::Standing& one : standings_in(board, rounds))
      CHECK(one.profit.units() == worth(one.account) - before[one.account]);
  }
}
