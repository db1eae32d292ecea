// The market view agrees with the engine after every apply, and its changes contain everything that
// changed.
#include "market_data/market_view.hpp"

#include <set>

#include "catch.hpp"
#include "engine/exchange.hpp"
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

// Alice has cash, and 10 shares of SPY; the newest rows are in the view.
struct SmallMarket {
  const AccountId alice{"1"};
  const SymbolName spy{"SPY"};
  Exchange engine;
  MarketView view;
  ModelTables tables;
  std::uint64_t batch = 0;
  Timestamp now{};
  Rows rows;  // of the last update

  explicit SmallMarket(std::size_t in_all = trades_in_all) : view(trades_kept, in_all, 0) {
    apply(CreateAccount{alice, Cash::whole(1'000)});
    apply(PlaceShares{spy, alice, Shares::whole(10)});
    update();
  }
  void apply(const Command& command) { REQUIRE(changed_state(engine.apply(command, now))); }
  void buy(int shares, int limit) {
    apply(PlaceOrder{alice, spy, Side::buy, Shares::whole(shares), Price::whole(limit)});
  }
  void sell(int shares, int limit) {
    apply(PlaceOrder{alice, spy, Side::sell, Shares::whole(shares), Price::whole(limit)});
  }
  void replace(OrderId order, Side side, int shares, int limit) {
    apply(ReplaceOrder{alice, side, order, Shares::whole(shares), Price::whole(limit)});
  }
  const std::vector<MarketView::Change>& update() {
    rows = {};
    engine.release_closed(engine.take_changes(rows));
    tables.write(rows);
    return view.apply(rows, ++batch);
  }

  const MarketView::Symbol& symbol() const { return *view.find_symbol(spy); }
  const MarketView::Account& account() const { return *view.find_account(alice); }
  // Returns "id: open at limit" of the open orders, in the order in which the view lists them.
  std::vector<std::string> orders() const {
    std::vector<std::string> all;
    view.visit_open_orders(account(), SIZE_MAX, [&](const OrderRow& row) {
      all.push_back(std::to_string(row.id) + ": " + to_string(row.open) + " at " +
                    to_string(row.limit));
    });
    return all;
  }
};

// "price: shares of orders", best first.
std::vector<std::string> texts(const std::map<std::int64_t, MarketView::Level>& levels, Side side) {
  std::vector<std::string> all;
  for (const auto& [rank, level] : levels)
    all.push_back(to_string(MarketView::price_of(side, rank)) + ": " +
                  to_string(Shares::from_units(std::int64_t(level.shares_units))) + " of " +
                  std::to_string(level.orders));
  return all;
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

TEST_CASE("what is loaded at start counts neither as trades nor as a change") {
  SmallMarket market;
  market.sell(5, 3);
  market.now = Timestamp{7};
  market.buy(2, 4);
  market.update();
  MarketView view(trades_kept, trades_in_all, 0);
  view.load(market.tables.image(), 8, market.rows.executions);
  CHECK(view.batch() == 8);
  const MarketView::Symbol& symbol = *view.find_symbol(market.spy);
  CHECK((symbol.sequence == 0 && symbol.trades_seen == 0 && symbol.traded_units == 0));
  REQUIRE(symbol.trades.size() == 1);
  CHECK((symbol.trades[0].price == Price::whole(3) && symbol.trades[0].taker == Side::buy &&
         symbol.trades[0].time == Timestamp{7}));
  CHECK(view.apply({}, 9).empty());
  CHECK(view.batch() == 9);
}

TEST_CASE("an order that is replaced moves to its new price, and both levels are changes") {
  SmallMarket market;
  market.buy(3, 5);  // 1
  market.buy(2, 5);  // 2
  market.update();
  market.replace(1, Side::buy, 4, 6);
  const auto& changes = market.update();
  REQUIRE(changes.size() == 1);
  CHECK(texts(changes[0].levels[int(Side::buy)], Side::buy) ==
        std::vector<std::string>{"6: 4 of 1", "5: 2 of 1"});
  CHECK(texts(market.symbol().levels[int(Side::buy)], Side::buy) ==
        std::vector<std::string>{"6: 4 of 1", "5: 2 of 1"});
  market.replace(2, Side::buy, 1, 6);
  const auto& more = market.update();
  REQUIRE(more.size() == 1);
  CHECK(texts(more[0].levels[int(Side::buy)], Side::buy) ==
        std::vector<std::string>{"6: 5 of 2", "5: 0 of 0"});
  CHECK(market.account().reserved == Cash::whole(5 * 6));
  CHECK((market.account().open_orders == 2 && market.symbol().open_orders == 2));
}

TEST_CASE("a sell that is replaced reserves the shares of its new amount") {
  SmallMarket market;
  market.sell(4, 5);
  market.update();
  market.replace(1, Side::sell, 7, 5);
  market.update();
  const MarketView::Position& position = market.account().positions.at(0);
  CHECK(
      (position.shares == Shares::whole(3) && position.reserved_units == Shares::whole(7).units()));
  CHECK(texts(market.symbol().levels[int(Side::sell)], Side::sell) ==
        std::vector<std::string>{"5: 7 of 1"});
}

TEST_CASE("open orders are listed by place: an order that keeps it stays where it is") {
  SmallMarket market;
  for (int i = 0; i < 3; ++i) market.buy(3, 5);
  market.update();
  market.replace(1, Side::buy, 2, 5);
  market.update();
  CHECK(market.orders() == std::vector<std::string>{"1: 2 at 5", "2: 3 at 5", "3: 3 at 5"});
  market.replace(1, Side::buy, 4, 5);
  market.update();
  CHECK(market.orders() == std::vector<std::string>{"2: 3 at 5", "3: 3 at 5", "1: 4 at 5"});
}

TEST_CASE("orders that were opened and replaced between two updates are listed by place") {
  SmallMarket market;
  market.buy(3, 5);  // 1
  market.update();
  market.replace(1, Side::buy, 2, 5);  // 2: keeps its place, and is the first row that changes
  market.buy(3, 5);                    // 3
  market.buy(3, 5);                    // 4
  market.replace(3, Side::buy, 3, 7);  // 5
  market.replace(1, Side::buy, 1, 6);  // 6
  market.buy(1, 4);                    // 7
  market.update();
  CHECK(market.orders() ==
        std::vector<std::string>{"4: 3 at 5", "3: 3 at 7", "1: 1 at 6", "7: 1 at 4"});
  MarketView restarted(trades_kept, trades_in_all, 0);
  restarted.load(market.tables.image(), market.batch, {});
  std::vector<OrderId> ids;
  restarted.visit_open_orders(*restarted.find_account(market.alice), SIZE_MAX,
                              [&](const OrderRow& row) { ids.push_back(row.id); });
  CHECK(ids == std::vector<OrderId>{4, 3, 1, 7});
}

TEST_CASE("an older order that was replaced is the taker of a trade") {
  SmallMarket market;
  market.buy(3, 5);   // 1
  market.sell(2, 6);  // 2
  market.replace(1, Side::buy, 3, 6);
  const auto& changes = market.update();
  REQUIRE(changes.size() == 1);
  REQUIRE(changes[0].trades.size() == 1);
  const MarketView::Trade& trade = changes[0].trades[0];
  CHECK((trade.taker == Side::buy && trade.price == Price::whole(6) && trade.buy_order == 1 &&
         trade.sell_order == 2));
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
  SmallMarket market(3);
  const auto trade = [&](const char* symbol) {
    const SymbolName name(symbol);
    market.apply(PlaceShares{name, market.alice, Shares::whole(1)});
    for (const Side side : {Side::sell, Side::buy})
      market.apply(PlaceOrder{market.alice, name, side, Shares::whole(1), Price::whole(1)});
  };
  const auto kept = [&](const char* symbol) {
    market.update();
    std::vector<ExecutionId> ids;
    for (const MarketView::Trade& one : market.view.find_symbol(SymbolName(symbol))->trades)
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
