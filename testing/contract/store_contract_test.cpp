// The contract of store.hpp, on which the core relies. Every case runs against SQLite, PostgreSQL
// (a private cluster) and memory.

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "contract/places.hpp"
#include "model/print.hpp"
#include "model/random_commands.hpp"
#include "model/tables.hpp"
#include "support/stores.hpp"
#include "support/wait_for.hpp"

using namespace exchange;
using namespace exchange::testing;

namespace {

const SymbolName null_named("NULL");
const std::string awkward_payload("\0\\x'\"\xFF\n", 7);

// A small market with every kind of row and with extreme numbers.
Exchange small_market() {
  Exchange exchange;
  const auto at = [](std::int64_t s) { return Timestamp{s * 1'000'000}; };
  exchange.apply(CreateAccount{alice, Cash::whole(1'000'000)}, at(1));
  exchange.apply(CreateAccount{bob, parse_cash("12345678901234567890.1234567890123456").value},
                 at(1));
  exchange.apply(CreateSymbol{null_named}, at(1));
  exchange.apply(PlaceShares{spy, bob, parse_shares("92233720367.99999999").value}, at(1));
  // 1: half filled, open
  exchange.apply(PlaceOrder{alice, spy, Side::buy, Shares::whole(100), Price::whole(5)}, at(2));
  // 2: filled
  exchange.apply(PlaceOrder{bob, spy, Side::sell, Shares::whole(50), Price::whole(4)}, at(3));
  // 3: canceled
  exchange.apply(PlaceOrder{alice, spy, Side::buy, Shares::whole(7), Price::whole(3)}, at(4));
  exchange.apply(CancelOrder{alice, 3}, at(5));
  // 4: open
  exchange.apply(PlaceOrder{bob, spy, Side::sell, parse_shares("0.00000001").value,
                            Price::whole(90'000'000'000)},
                 at(6));
  return exchange;
}

Status query(Exchange& exchange, const AccountId& account, OrderId order) {
  return std::get<Status>(exchange.apply(QueryOrder{account, order}, {}));
}

}  // namespace

TEST_CASE("a new store is empty") {
  const auto place = any_place();
  Store& store = place->reopen();
  const TablesImage image = store.tables().load();
  CHECK(image.rows.size() == 0);
  CHECK(image.rows.totals == Totals{});
  CHECK(image.projected_batch == 0);
  CHECK(journal_after(store, 0).empty());
  CHECK_FALSE(store.tables().read_order(1));
}

TEST_CASE("what was appended is there after reopening, byte for byte and in order") {
  const auto place = any_place();
  Store* store = &place->reopen();
  store->journal().append(1, awkward_payload);
  store->journal().append(2, std::string(100'000, 'x'));
  store = &place->reopen();
  store->journal().append(3, "three");
  const auto rows = journal_after(*store, 1);
  REQUIRE(rows.size() == 2);
  CHECK((rows[0].batch == 2 && rows[0].payload == std::string(100'000, 'x')));
  CHECK((rows[1].batch == 3 && rows[1].payload == "three"));
  CHECK(rows[1].epoch > rows[0].epoch);
  CHECK(journal_after(*store, 0)[0].payload == awkward_payload);
}

TEST_CASE("a batch number is used once, and resolve_in_doubt returns whether it was") {
  const auto place = any_place();
  Store& store = place->reopen();
  store.journal().append(1, "first");
  CHECK_THROWS_AS(store.journal().append(1, "second"), StoreUnavailable);
  // PostgreSQL may take a moment to see that the connection with the lock has ended. The core
  // repeats its call too.
  std::optional<bool> there;
  CHECK(wait_for([&] {
    try {
      there = store.journal().resolve_in_doubt(1);
    } catch (const StoreUnavailable&) {
    }
    return there.has_value();
  }));
  CHECK(there == true);
  CHECK_FALSE(store.journal().resolve_in_doubt(2));
  store.journal().append(2, "goes on after resolving");
  CHECK(journal_after(store, 0).size() == 2);
}

TEST_CASE("projected tables load as the exchange they came from") {
  const auto place = any_place();
  Exchange exchange = small_market();
  project(place->reopen(), exchange, 17);

  const TablesImage image = place->reopen().tables().load();
  CHECK(image.projected_batch == 17);
  CHECK(image.rows.totals == exchange.totals());
  Exchange loaded(image.rows);
  CHECK(loaded.check_invariants() == "");
  for (const AccountId& account : {alice, bob}) {
    CHECK(loaded.balance(account) == exchange.balance(account));
    CHECK(loaded.position(account, spy) == exchange.position(account, spy));
  }
  for (const Side side : {Side::buy, Side::sell})
    CHECK(loaded.depth(spy, side) == exchange.depth(spy, side));
  CHECK(query(loaded, alice, 1) == query(exchange, alice, 1));
  CHECK(query(loaded, bob, 4) == query(exchange, bob, 4));
  CHECK(loaded.orders_in_memory() == 2);
  const auto smallest = place->reopen().tables().read_order(4);
  REQUIRE(smallest);
  CHECK((smallest->row.open == parse_shares("0.00000001").value &&
         smallest->row.limit == Price::whole(90'000'000'000)));
}

TEST_CASE("a later projection overwrites rows and adds new ones; doing it twice does no harm") {
  const auto place = any_place();
  Store& store = place->reopen();
  Exchange exchange = small_market();
  project(store, exchange, 1);
  exchange.apply(PlaceOrder{bob, spy, Side::sell, Shares::whole(20), Price::whole(5)},
                 Timestamp{7'000'000});
  exchange.apply(CancelOrder{alice, 1}, Timestamp{8'000'000});
  Rows rows;
  exchange.take_changes(rows);
  store.tables().project(rows, 2);
  store.tables().project(rows, 2);

  const TablesImage image = store.tables().load();
  CHECK(image.projected_batch == 2);
  Exchange loaded(image.rows);
  CHECK(loaded.check_invariants() == "");
  CHECK(loaded.balance(alice) == exchange.balance(alice));
  CHECK(loaded.depth(spy, Side::buy).empty());
  const auto order = store.tables().read_order(1);
  REQUIRE(order);
  CHECK((order->row.canceled == Shares::whole(30) && order->row.open == Shares() &&
         order->row.shares == Shares::whole(100)));
  CHECK((order->row.opened_at == Timestamp{2'000'000} &&
         order->row.canceled_at == Timestamp{8'000'000}));
  CHECK(order->executions ==
        std::vector<Execution>{{Shares::whole(50), Price::whole(5), Timestamp{3'000'000}},
                               {Shares::whole(20), Price::whole(5), Timestamp{7'000'000}}});
  CHECK(order->executions_total == 2);
  const auto range = [&](std::uint64_t count, std::uint64_t before) {
    return store.tables().read_order(1, {count, before})->executions;
  };
  const Execution first = order->executions[0], second = order->executions[1];
  CHECK(range(1, INT64_MAX) == std::vector{second});
  CHECK(range(1, 1) == std::vector{first});
  CHECK(range(5, 9) == std::vector{first, second});
  CHECK(range(5, 0).empty());
  CHECK(range(0, INT64_MAX).empty());
  CHECK(store.tables().read_order(1, {1, 1})->executions_total == 2);
}

TEST_CASE("events of an account are read by their numbers, with the references of orders") {
  const auto place = any_place();
  Store& store = place->reopen();
  Exchange exchange = small_market();
  exchange.begin_batch(1);
  for (const AccountId& account : {alice, bob})
    exchange.apply(RecordEvents{account}, Timestamp{9'000'000});
  project(store, exchange, 1);
  exchange.begin_batch(2);
  exchange.apply(
      PlaceOrder{bob, spy, Side::sell, Shares::whole(20), Price::whole(5), OrderReference("mine")},
      Timestamp{10'000'000});
  exchange.apply(CancelOrder{alice, 1}, Timestamp{10'000'000});
  Rows rows;
  exchange.take_changes(rows);
  store.tables().project(rows, 2);
  store.tables().project(rows, 2);

  const auto of_account = [&](AccountNumber account) {
    std::vector<EventRow> events;
    for (const EventRow& row : rows.events)
      if (row.account == account) {
        events.push_back(row);
        if (account == 1) events.back().reference = OrderReference("mine");
      }
    return events;
  };
  CHECK(of_account(0).size() == 2);  // executed, canceled
  CHECK(store.tables().read_events(0, 2, 3) == of_account(0));
  CHECK(store.tables().read_events(1, 2, 3) == of_account(1));
  CHECK(store.tables().read_events(1, 3, 3) == std::vector{of_account(1)[1]});
  const EventRow began = store.tables().read_events(0, 1, 1)[0];
  CHECK((began.kind == EventKind::began && began.batch == 1 && began.time == Timestamp{9'000'000}));
  const TablesImage image = store.tables().load();
  CHECK(image.rows.accounts[0].events == 3);
  // new numbers continue after the stored ones
  Exchange loaded(image.rows);
  loaded.apply(PlaceShares{null_named, alice, Shares::whole(1)}, Timestamp{11'000'000});
  loaded.take_changes(rows);
  REQUIRE(rows.events.size() == 1);
  CHECK(rows.events[0].number == 4);
}

TEST_CASE("pruning deletes old rows only") {
  const auto place = any_place();
  Store& store = place->reopen();
  Exchange exchange = small_market();
  for (BatchNumber batch = 1; batch <= 5; ++batch) store.journal().append(batch, "payload");
  project(store, exchange, 4);
  prune(store, 3);
  store.journal().append(6, "payload");  // some stores prune with the next append
  std::set<BatchNumber> left;
  for (const JournalRow& row : journal_after(store, 0)) left.insert(row.batch);
  // SQLite's journal frees only whole blocks (journal_file_test.cpp), so it still has all rows
  // here.
  if (dynamic_cast<SqliteStore*>(&store) != nullptr)
    CHECK(left == std::set<BatchNumber>{1, 2, 3, 4, 5, 6});
  else
    CHECK(left == std::set<BatchNumber>{4, 5, 6});
}

TEST_CASE("recovery replays what the tables lack and ends in the same state") {
  const auto place = any_place();
  Store* store = &place->reopen();
  Exchange exchange = small_market();
  project(*store, exchange, 1);
  commit(*store, exchange, 1, {});
  commit(*store, exchange, 2,
         {CreateAccount{AccountId("3"), Cash()},
          PlaceShares{null_named, AccountId("3"), Shares::whole(9)}});
  commit(*store, exchange, 3,
         {PlaceOrder{bob, spy, Side::sell, Shares::whole(60), Price::whole(5)}});
  commit(*store, exchange, 4, {CancelOrder{bob, 5}});
  store = &place->reopen();
  Recovered recovered = recover(*store);
  CHECK(recovered.last_batch == 4);
  CHECK(recovered.batches_replayed == 3);
  CHECK(recovered.exchange.totals() == exchange.totals());
  CHECK(recovered.exchange.balance(bob) == exchange.balance(bob));
  CHECK(query(recovered.exchange, bob, 5) == query(exchange, bob, 5));
  CHECK(recovered.exchange.check_invariants() == "");
}

TEST_CASE("recovery refuses a journal with a gap") {
  // A journal file cannot have a gap (journal_file.hpp), so SQLite is not tested.
  std::unique_ptr<Place> place;
  if (GENERATE(false, true))
    place = std::make_unique<PostgresPlace>();
  else
    place = std::make_unique<MemoryPlace>();
  Store& store = place->reopen();
  Exchange exchange;
  commit(store, exchange, 2, {CreateAccount{alice, Cash::whole(5)}});
  CHECK_THROWS_WITH(recover(store), contains_text("rows are missing"));
}

TEST_CASE("recovery refuses a journal with a broken record or a replay that differs") {
  const auto place = any_place();
  Store& store = place->reopen();
  JournalWriter writer;
  writer.begin(Timestamp{1});
  writer.add(CreateAccount{alice, Cash::whole(5)});
  Exchange exchange;
  exchange.apply(CreateAccount{alice, Cash::whole(5)}, Timestamp{1});
  const std::string good(writer.finish(exchange.totals()));
  SECTION("any byte changed") {
    std::string bad = good;
    bad[bad.size() / 2] = char(bad[bad.size() / 2] ^ 1);
    store.journal().append(1, bad);
    CHECK_THROWS_WITH(recover(store), contains_text("batch 1") && contains_text("checksum"));
  }
  SECTION("another promise") {
    Totals totals = exchange.totals();
    ++totals.digest;
    store.journal().append(1, writer.finish(totals));
    CHECK_THROWS_WITH(recover(store), contains_text("differs from what was promised"));
  }
  SECTION("tables beyond the end of the journal") {
    store.journal().append(1, good);
    store.tables().project(Rows{}, 2);
    CHECK_THROWS_WITH(recover(store), contains_text("the journal ends before batch 2"));
  }
  SECTION("tables that are not what their batch led to") {
    store.journal().append(1, good);
    store.tables().project(Rows{}, 1);
    CHECK_THROWS_WITH(recover(store),
                      contains_text("the tables are not what journal batch 1 led to"));
  }
  SECTION("good") {
    store.journal().append(1, good);
    CHECK(recover(store).exchange.balance(alice) == Cash::whole(5));
  }
}

namespace {

const KeyHash some_key = [] {
  KeyHash key{.log2_n = 14, .r = 8, .p = 1};
  for (std::size_t i = 0; i < key.salt.size(); ++i) key.salt[i] = std::uint8_t(i);
  for (std::size_t i = 0; i < key.digest.size(); ++i) key.digest[i] = std::uint8_t(255 - i);
  return key;
}();

using Keys = std::vector<std::pair<AccountId, KeyHash>>;
// Returns the newest key of each account.
Keys keys_of(const Recovered& recovered) {
  Keys keys;
  for (const LoginChange& login : recovered.logins) {
    if (!login.key) continue;
    std::erase_if(keys, [&](const auto& one) { return one.first == login.account; });
    keys.emplace_back(login.account, *login.key);
  }
  return keys;
}

}  // namespace

TEST_CASE(
    "keys survive a restart from the journal, from the tables, and once the journal is pruned") {
  const auto place = any_place();
  Store* store = &place->reopen();
  Exchange exchange;
  commit(*store, exchange, 1, {CreateAccount{alice, Cash::whole(5)}});
  commit(*store, exchange, 2, {CreateAccount{bob, Cash::whole(5), some_key}});
  const Keys expected{{bob, some_key}};
  store = &place->reopen();
  CHECK(keys_of(recover(*store)) == expected);

  project(*store, exchange, 2);
  Exchange later = std::move(exchange);
  store = &place->reopen();
  CHECK(keys_of(recover(*store)) == expected);
  CHECK(recover(*store).tables.account_keys.size() == 1);

  prune(*store, 2);
  commit(*store, later, 3, {CreateAccount{AccountId("3"), Cash(), some_key}});
  store = &place->reopen();
  CHECK(keys_of(recover(*store)) == Keys{{bob, some_key}, {AccountId("3"), some_key}});
}

TEST_CASE("keys that change and rules of accounts survive a restart, the newest of each") {
  const auto place = any_place();
  Store* store = &place->reopen();
  Exchange exchange;
  KeyHash other = some_key;
  other.digest[0] ^= 1;
  const SetAccount rules{.account = bob,
                         .role = Role::market_operator,
                         .access = Access::frozen,
                         .orders_max = 7,
                         .orders_per_second_max = 8,
                         .position_max = Shares::whole(9),
                         .name = AccountName("Zo\u00eb, 'Bob'")};
  commit(*store, exchange, 1,
         {CreateAccount{alice, Cash::whole(5), some_key}, CreateAccount{bob, Cash(), some_key}});
  project(*store, exchange, 1);
  store = &place->reopen();
  commit(*store, exchange, 2,
         {SetKey{bob, other}, SetKey{alice, other}, SetKey{alice}, SetAccount{bob}, rules});
  const AccountRulesRow expected{1,
                                 Role::market_operator,
                                 Access::frozen,
                                 7,
                                 8,
                                 Shares::whole(9),
                                 AccountName("Zo\u00eb, 'Bob'")};
  for (const bool projected : {false, true}) {
    if (projected) project(*store, exchange, 2);
    store = &place->reopen();
    const Recovered recovered = recover(*store);
    const Keys keys = keys_of(recovered);
    CHECK(std::is_permutation(keys.begin(), keys.end(), Keys{{alice, {}}, {bob, other}}.begin()));
    CHECK(recovered.logins.back().role == Role::market_operator);
    if (projected) CHECK(recovered.tables.account_rules == std::vector{expected});
  }
}

TEST_CASE("rounds, and the trades that a leaderboard counts, survive in the tables") {
  const auto place = any_place();
  Store* store = &place->reopen();
  Exchange exchange;
  const auto trade = [&](BatchNumber batch) {
    commit(*store, exchange, batch,
           {PlaceOrder{alice, spy, Side::buy, Shares::whole(2), Price::whole(3)},
            PlaceOrder{bob, spy, Side::sell, Shares::whole(2), Price::whole(3)}});
  };
  commit(*store, exchange, 1,
         {CreateAccount{alice, Cash::whole(9'000)}, CreateAccount{bob, Cash()},
          PlaceShares{spy, bob, Shares::whole(9)}});
  trade(2);
  commit(*store, exchange, 3, {BeginRound{OrderReference("one")}});
  trade(4);
  project(*store, exchange, 4);
  store = &place->reopen();
  exchange = std::move(recover(*store).exchange);
  commit(*store, exchange, 5, {BeginRound{OrderReference("two")}});
  for (const bool projected : {false, true}) {
    if (projected) project(*store, exchange, 5);
    store = &place->reopen();
    const std::vector<RoundRow> rounds = recover(*store).tables.rounds;
    CHECK(rounds.size() == (projected ? 2 : 1));
    CHECK((rounds[0].number == 1 && rounds[0].name == OrderReference("one")));
    CHECK(rounds[0].executions_before == 1);
    if (projected) CHECK((rounds[1].number == 2 && rounds[1].executions_before == 2));
    std::vector<Leaderboard::Trade> trades;
    store->tables().read_trades(1, [&](const Leaderboard::Trade& one) { trades.push_back(one); });
    REQUIRE(trades.size() == 1);
    CHECK(trades[0] ==
          Leaderboard::Trade{2, 0, 0, 1, Shares::whole(2), Price::whole(3), trades[0].time});
    CHECK(trades[0].time > Timestamp{});
    store->tables().read_trades(2, [](const Leaderboard::Trade&) { FAIL(); });
  }
}

TEST_CASE("references survive in the tables") {
  const auto place = any_place();
  Store* store = &place->reopen();
  Exchange exchange;
  const OrderReference name("a:1");
  const auto order = [&](std::int64_t shares, OptionalReference reference) {
    return PlaceOrder{alice, spy, Side::buy, Shares::whole(shares), Price::whole(2), reference};
  };
  commit(*store, exchange, 1,
         {CreateAccount{alice, Cash::whole(9'000)}, order(1, {}), order(2, name)});
  commit(*store, exchange, 2, {CancelOrder{.account = alice, .order = 0, .reference = name}});
  const auto remembers = [&](Exchange&& recovered) {
    CHECK(recovered.apply(order(2, name), {}) == Outcome(OpenedBefore{2}));
    CHECK(recovered.apply(order(3, name), {}) == Outcome(Rejected{Reason::reference_used, 2}));
  };
  store = &place->reopen();
  remembers(recover(*store).exchange);
  project(*store, exchange, 2);
  store = &place->reopen();
  Recovered recovered = recover(*store);
  CHECK(recovered.batches_replayed == 0);
  remembers(std::move(recovered.exchange));

  // The references of the newest 1,024 orders of each account are remembered; an older one may be
  // used again.
  std::vector<Command> many;
  for (int i = 0; i < 1'024; ++i) many.push_back(order(1, OrderReference(std::to_string(i))));
  commit(*store, exchange, 3, many);
  project(*store, exchange, 3);
  Exchange last = recover(place->reopen()).exchange;
  CHECK(last.apply(order(3, OrderReference("0")), {}) ==
        Outcome(Rejected{Reason::reference_used, 3}));
  CHECK(last.apply(order(3, name), {}) == Outcome(Opened{1'027}));
}

TEST_CASE("tables give back what was projected, also the places and takers of replaced orders") {
  const auto place = any_place();
  Store* store = &place->reopen();
  RandomCommands commands(test_seed(), false);
  Exchange exchange;
  ModelTables model;
  std::vector<ExecutionRow> executions;
  store->tables().load();
  for (BatchNumber batch = 1; batch <= 90; ++batch) {
    for (int i = 0; i < 10; ++i)
      exchange.apply(commands.next(exchange.totals().orders), commands.next_time());
    Rows rows;
    exchange.take_changes(rows);
    store->tables().project(rows, batch);
    model.write(rows);
    executions.insert(executions.end(), rows.executions.begin(), rows.executions.end());
    if (batch % 30 != 0) continue;

    store = &place->reopen();
    const Rows image = store->tables().load().rows, expected = model.image();
    CHECK(lines(image) == lines(expected));
    CHECK(image.orders == expected.orders);
    CHECK(image.references == expected.references);
    CHECK(image.totals == expected.totals);
    CHECK(store->tables().newest_executions(executions.size() + 1) == executions);
    std::size_t replacements = 0;
    for (OrderId order = 1; order <= exchange.totals().orders; ++order) {
      const auto stored = store->tables().read_order(order);
      REQUIRE(stored.has_value() == model.order(order).has_value());
      replacements += model.replacement(order).has_value();
      if (!stored) continue;
      REQUIRE(stored->row == *model.order(order));
      REQUIRE(stored->executions == model.executions_of(order));
    }
    CHECK((replacements > 0 || batch < 90));
  }
}

TEST_CASE("fills of an account are its parts of all executions, as its events have them") {
  const auto place = any_place();
  Store* store = &place->reopen();
  RandomCommands commands(test_seed(), false);
  Exchange exchange;
  ModelTables model;
  std::vector<ExecutionRow> executions;
  std::map<OrderId, OrderReference> references;
  std::map<std::pair<AccountNumber, std::pair<ExecutionId, OrderId>>, EventRow> events;
  for (BatchNumber batch = 1; batch <= 40 || executions.size() <= 20; ++batch) {
    exchange.begin_batch(batch);
    for (int i = 0; i < 25; ++i)
      exchange.apply(commands.next(exchange.totals().orders), commands.next_time());
    for (std::uint64_t number = 0; number < RandomCommands::accounts; ++number)
      exchange.apply(RecordEvents{RandomCommands::account(number)}, commands.next_time());
    Rows rows;
    exchange.take_changes(rows);
    store->tables().project(rows, batch);
    model.write(rows);
    executions.insert(executions.end(), rows.executions.begin(), rows.executions.end());
    for (const ReferenceRow& row : rows.references) references.emplace(row.order, row.reference);
    for (const EventRow& row : rows.events)
      if (row.execution != 0) events[{row.account, {row.execution, row.order}}] = row;
  }
  const ExecutionId newest = exchange.totals().executions;
  REQUIRE(newest > 20);
  store = &place->reopen();
  std::size_t self_trades = 0, compared = 0;
  for (AccountNumber account = 0; account < exchange.accounts() + 1; ++account) {
    std::vector<Fill> expected;
    for (const ExecutionRow& row : executions) {
      FilledOrders filled{row, {}, {}};
      for (const bool is_sell : {false, true}) {
        const OrderId order = is_sell ? row.sell_order : row.buy_order;
        filled.accounts[is_sell] = model.order(order)->account;
        if (references.contains(order)) filled.references[is_sell] = references.at(order);
      }
      const std::size_t before = expected.size();
      add_fills(expected, filled, account);
      self_trades += expected.size() == before + 2;
    }
    for (const Fill& fill : expected) {
      const auto found = events.find({account, {fill.execution, fill.order}});
      if (found == events.end()) continue;  // older than the recording of its account's events
      const EventRow& event = found->second;
      ++compared;
      CHECK((event.symbol == fill.symbol && event.side == fill.side &&
             event.shares == fill.shares && event.price == fill.price && event.time == fill.time &&
             (event.kind == EventKind::executed_taker) == fill.is_taker));
    }
    CHECK(store->tables().read_fills({account, 0, newest, SIZE_MAX >> 1}).newest == newest);
    CHECK(store->tables().read_fills({account, 0, newest, SIZE_MAX >> 1}).list == expected);
    CHECK(store->tables().read_fills({account, 0, newest + 9, SIZE_MAX >> 1, true}).list.size() ==
          expected.size());
    // any range, from either end
    for (int round = 0; round < 20; ++round) {
      const ExecutionId after = commands.below(newest + 1), through = commands.below(newest + 2);
      const std::size_t max = 1 + commands.below(6);
      for (const bool newest_first : {false, true}) {
        std::vector<Fill> wanted;
        std::vector<ExecutionId> ids;
        for (const Fill& fill : expected)
          if (fill.execution > after && fill.execution <= through &&
              (ids.empty() || ids.back() != fill.execution))
            ids.push_back(fill.execution);
        if (newest_first) std::reverse(ids.begin(), ids.end());
        ids.resize(std::min(ids.size(), max));
        for (const ExecutionId id : ids)
          for (const Fill& fill : expected)
            if (fill.execution == id) wanted.push_back(fill);
        CHECK(store->tables().read_fills({account, after, through, max, newest_first}).list ==
              wanted);
      }
    }
  }
  CHECK(self_trades > 0);
  CHECK(compared > 0);
}

TEST_CASE("a PostgreSQL store of another format is refused, and the version that wrote it named") {
  PostgresPlace place;
  place.reopen();
  for (const auto& [format, message] :
       {std::pair{2, "was written by a version before 1.0: "},
        {203, "was written by version 2.3 or newer: start that version"}}) {
    place.run("UPDATE fence SET schema_version = " + std::to_string(format));
    CHECK_THROWS_WITH(place.reopen(), contains_text(message));
  }
}
