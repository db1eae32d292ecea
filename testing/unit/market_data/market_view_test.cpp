// The market view agrees with the engine after every apply, and its changes contain everything that
// changed; the feed brings it the rows.
#include "market_data/market_view.hpp"

#include <atomic>
#include <set>
#include <thread>

#include "catch.hpp"
#include "engine/exchange.hpp"
#include "market_data/market_feed.hpp"
#include "model/random_commands.hpp"
#include "model/tables.hpp"

using namespace exchange;

namespace {

constexpr std::size_t trades_kept = 5, trades_in_all = 1'000'000;

std::vector<Exchange::Depth> depth(const std::map<std::int64_t, MarketView::Level>& levels,
                                   Side side) {
  std::vector<Exchange::Depth> result;
  for (const auto& [rank, level] : levels)
    result.push_back({MarketView::price_of(side, rank), level.shares_units, level.orders});
  return result;
}

// The state of one symbol that a subscriber builds from the changes alone.
struct Subscriber {
  std::map<std::int64_t, MarketView::Level> levels[2];
  std::vector<ExecutionId> trades;
  std::uint64_t sequence = 0;
  Trading trading = Trading::open;

  // `now`: how the symbol trades, which goes with each change.
  void take(const MarketView::Change& change, Trading now) {
    REQUIRE(change.sequence == sequence + 1);
    const bool any =
        !change.levels[0].empty() || !change.levels[1].empty() || !change.trades.empty();
    // in an auction, other rules change what it would execute
    REQUIRE((any || now != trading || collects(now)));
    sequence = change.sequence;
    trading = now;
    for (const Side side : {Side::buy, Side::sell})
      for (const auto& [rank, level] : change.levels[int(side)]) {
        if (level.orders > 0)
          levels[int(side)][rank] = level;
        else
          levels[int(side)].erase(rank);
      }
    for (const MarketView::Trade& trade : change.trades) trades.push_back(trade.id);
  }
};

// Returns free and reserved cash or shares, from the rows of the tables.
void check_accounts(const MarketView& view, const Exchange& engine, Rows tables) {
  std::sort(tables.orders.begin(), tables.orders.end(),
            [](const OrderRow& a, const OrderRow& b) { return a.place < b.place; });
  for (int number = 0; number <= RandomCommands::accounts; ++number) {
    const AccountId id = RandomCommands::account(std::uint64_t(number));
    const MarketView::Account* account = view.find_account(id);
    if (account == nullptr) {
      REQUIRE(std::none_of(tables.accounts.begin(), tables.accounts.end(),
                           [&](const AccountRow& row) { return row.id == id; }));
      continue;
    }
    REQUIRE(account->balance == engine.balance(id));
    Cash reserved;
    std::map<SymbolNumber, Int128> reserved_shares;
    std::vector<OrderId> orders, seen;
    for (const OrderRow& row : tables.orders) {
      if (!(view.account_id(row.account) == id)) continue;
      orders.push_back(row.id);
      if (row.side == Side::buy)
        reserved +=
            cost(row.open, row.limit == Price() ? view.symbols()[row.symbol].instrument.price_max
                                                : row.limit);
      else
        reserved_shares[row.symbol] += row.open.units();
    }
    REQUIRE(account->reserved == reserved);
    for (const MarketView::Position& position : account->positions) {
      REQUIRE(position.shares == engine.position(id, view.symbols()[position.symbol].name));
      REQUIRE(position.reserved_units == reserved_shares[position.symbol]);
    }
    view.visit_open_orders(*account, SIZE_MAX,
                           [&](const OrderRow& row) { seen.push_back(row.id); });
    REQUIRE(seen == orders);
    REQUIRE(account->open_orders == orders.size());
    AccountRules rules;
    for (const AccountRulesRow& row : tables.account_rules)
      if (view.account_id(row.account) == id) rules = row.rules();
    REQUIRE(view.rules_of(*account) == rules);
  }
}

void check_symbols(const MarketView& view, const Exchange& engine, const Rows& tables) {
  REQUIRE(view.symbols().size() == tables.symbols.size());
  for (const MarketView::Symbol& symbol : view.symbols()) {
    for (const Side side : {Side::buy, Side::sell})
      REQUIRE(depth(symbol.levels[int(side)], side) == engine.depth(symbol.name, side));
    REQUIRE(view.find_symbol(symbol.name) == &symbol);
    const auto open = std::count_if(
        tables.orders.begin(), tables.orders.end(),
        [&](const OrderRow& row) { return view.symbols()[row.symbol].name == symbol.name; });
    REQUIRE(symbol.open_orders == open);
  }
}

Rows rows_of(std::size_t count) {
  Rows rows;
  rows.positions.resize(count);
  return rows;
}

}  // namespace

TEST_CASE("after every apply the view agrees with the engine, and its subscribers with the view") {
  for (int round = 0; round < 30; ++round) {
    RandomCommands commands(test_seed() + std::uint64_t(round), round % 3 == 2);
    Exchange engine;
    ModelTables tables;
    std::optional<MarketView> view(std::in_place, trades_kept, trades_in_all, 1);
    std::vector<Subscriber> subscribers;
    std::map<SymbolNumber, std::vector<ExecutionRow>> executed;
    std::vector<ExecutionRow> all_executed;
    for (int batch = 1; batch <= 60; ++batch) {
      for (std::uint64_t i = commands.below(30); i > 0; --i)
        engine.apply(commands.next(engine.totals().orders), commands.next_time());
      INFO("round " << round << ", batch " << batch);
      Rows rows;
      engine.release_closed(engine.take_changes(rows));
      tables.write(rows);
      const Rows image = tables.image();
      if (batch == 30) {  // a restart
        const Rows before = image;
        view.emplace(trades_kept, trades_in_all, 2);
        view->load(before, std::uint64_t(batch - 1), all_executed);
        REQUIRE(view->batch() == std::uint64_t(batch - 1));
        subscribers.clear();
        for (const MarketView::Symbol& symbol : view->symbols()) {
          REQUIRE(symbol.sequence == 0);
          subscribers.emplace_back().trading = symbol.instrument.trading;
          for (const Side side : {Side::buy, Side::sell})
            subscribers.back().levels[int(side)] = symbol.levels[int(side)];
        }
      }
      for (const ExecutionRow& row : rows.executions) {
        executed[row.symbol].push_back(row);
        all_executed.push_back(row);
      }
      std::set<SymbolNumber> changed;
      const auto& changes = view->apply(rows, std::uint64_t(batch));
      subscribers.resize(view->symbols().size());
      for (const MarketView::Change& change : changes) {
        REQUIRE(changed.insert(change.symbol).second);
        subscribers[change.symbol].take(change, view->symbols()[change.symbol].instrument.trading);
      }
      REQUIRE(view->batch() == std::uint64_t(batch));
      check_symbols(*view, engine, image);
      check_accounts(*view, engine, image);
      for (SymbolNumber number = 0; number < view->symbols().size(); ++number) {
        const MarketView::Symbol& symbol = view->symbols()[number];
        REQUIRE(symbol.sequence == subscribers[number].sequence);
        REQUIRE(symbol.instrument.trading == subscribers[number].trading);
        for (const Side side : {Side::buy, Side::sell})
          REQUIRE(depth(subscribers[number].levels[int(side)], side) ==
                  depth(symbol.levels[int(side)], side));
        const std::vector<ExecutionRow>& trades = executed[number];
        REQUIRE(symbol.trades.size() == std::min(trades.size(), trades_kept));
        for (std::size_t i = 0; i < symbol.trades.size(); ++i) {
          const ExecutionRow& row = trades[trades.size() - symbol.trades.size() + i];
          const MarketView::Trade& trade = symbol.trades[i];
          REQUIRE((trade.id == row.id && trade.price == row.price && trade.shares == row.shares &&
                   trade.time == row.time));
          REQUIRE(trade.taker == row.taker);
        }
      }
    }
    std::size_t published = 0, happened = 0;
    for (SymbolNumber number = 0; number < view->symbols().size(); ++number) {
      published += subscribers[number].trades.size();
      happened += view->symbols()[number].trades_seen;
    }
    REQUIRE(published == happened);
  }
}

TEST_CASE("executions that come again are not new trades") {
  MarketView view(trades_kept, trades_in_all, 0);
  Rows rows;
  rows.symbols = {{0, SymbolName("SPY"), Shares::whole(9)}};
  const auto execution = [](ExecutionId id) {
    return ExecutionRow{id, 0, 1, 2, Shares::whole(1), Price::whole(1), {}};
  };
  rows.executions = {execution(1), execution(2)};
  view.apply(rows, 1);
  rows.executions = {execution(2), execution(3)};  // by a server that took over
  view.apply(rows, 2);
  const MarketView::Symbol& symbol = *view.find_symbol(SymbolName("SPY"));
  CHECK(symbol.trades_seen == 3);
  CHECK(symbol.trades.size() == 3);
}

TEST_CASE("of all symbols together, the newest trades are kept") {
  const AccountId alice("1");
  Exchange engine;
  MarketView view(trades_kept, 3, 0);
  std::uint64_t batch = 0;
  const auto apply = [&](const Command& command) {
    REQUIRE(changed_state(engine.apply(command, {})));
  };
  apply(CreateAccount{alice, Cash::whole(1'000)});
  const auto trade = [&](const char* symbol) {
    const SymbolName name(symbol);
    apply(PlaceShares{name, alice, Shares::whole(1)});
    for (const Side side : {Side::sell, Side::buy})
      apply(PlaceOrder{alice, name, side, Shares::whole(1), Price::whole(1)});
  };
  const auto kept = [&](const char* symbol) {
    Rows rows;
    engine.release_closed(engine.take_changes(rows));
    view.apply(rows, ++batch);
    std::vector<ExecutionId> ids;
    for (const MarketView::Trade& one : view.find_symbol(SymbolName(symbol))->trades)
      ids.push_back(one.id);
    return ids;
  };
  using Ids = std::vector<ExecutionId>;
  for (const char* symbol : {"A", "B", "A"}) trade(symbol);
  CHECK(kept("A") == Ids{1, 3});
  trade("B");
  CHECK(kept("A") == Ids{3});
  CHECK(kept("B") == Ids{2, 4});
  for (int i = 0; i < 3; ++i) trade("B");
  CHECK(kept("A").empty());
  CHECK(kept("B") == Ids{5, 6, 7});
}

TEST_CASE(
    "rows arrive in order, and the reader is woken for them, also for those that came before it") {
  MarketFeed feed(100);
  feed.push(rows_of(1), 1);
  int woken = 0;
  feed.follow([&] { ++woken; });
  CHECK(woken == 1);
  feed.push(rows_of(2), 2);
  CHECK(woken == 2);
  const auto taken = feed.take();
  REQUIRE(taken.size() == 2);
  CHECK((taken[0].batch == 1 && taken[0].rows.size() == 1 && taken[1].batch == 2 &&
         taken[1].rows.size() == 2));
  CHECK(feed.take().empty());
}

TEST_CASE("a full feed holds the projector until it is read or ended") {
  MarketFeed feed(10);
  feed.push(rows_of(10), 1);
  std::atomic<int> pushed{0};
  std::thread projector([&] {
    feed.push(rows_of(10), 2);
    ++pushed;
    feed.push(rows_of(1), 3);
    ++pushed;
  });
  CHECK(pushed == 0);
  CHECK(feed.take().size() == 1);
  while (pushed < 1) std::this_thread::yield();
  CHECK(pushed == 1);
  feed.end();
  projector.join();
  CHECK(pushed == 2);
  CHECK(feed.take().size() == 1);  // rows after the end were dropped
}
