// Random commands: the engine against the naive exchange, against its own rows, and against itself.
#include <deque>
#include <map>
#include <set>

#include "engine/look_ahead.hpp"
#include "model/naive_exchange.hpp"
#include "model/random_commands.hpp"
#include "model/tables.hpp"
#include "support.hpp"

using namespace exchange;

namespace {

bool is_replace(const NaiveExchange& model, OrderId number) {
  return number != 0 && number <= model.orders() && model.placed(number) == nullptr;
}

// Resolves from the tables what the engine does not hold, as the core does. Expects exactly the
// orders in `released` and the numbers of replaces.
Outcome apply_with_tables(Exchange& engine, const NaiveExchange& model, const ModelTables& tables,
                          const std::set<OrderId>& released, const Command& command,
                          Timestamp now) {
  const Outcome outcome = engine.apply(command, now);
  const auto* forgotten = std::get_if<NotInMemory>(&outcome);
  OrderId order = 0;
  bool by_reference = false;
  const auto read = [&](const auto& of_order) {
    order = of_order.order;
    by_reference = bool(of_order.reference);
  };
  if (const auto* cancel = std::get_if<CancelOrder>(&command)) read(*cancel);
  if (const auto* query = std::get_if<QueryOrder>(&command)) read(*query);
  if (const auto* replace = std::get_if<ReplaceOrder>(&command)) read(*replace);
  if (by_reference) order = forgotten == nullptr ? 0 : forgotten->order;
  const bool should_forget = (released.count(order) != 0 || is_replace(model, order)) &&
                             outcome != rejected(Reason::unknown_account);
  REQUIRE((forgotten != nullptr) == should_forget);
  if (forgotten == nullptr) return outcome;
  REQUIRE(forgotten->order == order);
  return tables.answer(command, *forgotten);
}

std::set<OrderId> closed_orders(const NaiveExchange& model) {
  std::set<OrderId> closed;
  for (OrderId order = 1; order <= model.orders(); ++order)
    if (model.placed(order) != nullptr && !model.is_open(order)) closed.insert(order);
  return closed;
}

OrderId orders_placed(const NaiveExchange& model) { return model.orders() - model.replaces(); }

constexpr int rounds = 200, commands_per_round = 400;

RandomCommands commands_of(int round) {
  return RandomCommands(test_seed() + round, round % 3 == 2, round % 2 == 1);
}

// Calls step(command, its time) with the random commands of a round; the commands name orders up to
// orders().
template <class Orders, class Step>
void each_command(int round, RandomCommands& commands, Orders orders, Step step) {
  for (int i = 0; i < commands_per_round; ++i) {
    const Command command = commands.next(orders());
    INFO("round " << round << ", command " << i << ": " << print(command));
    step(command, commands.next_time());
  }
}

}  // namespace

TEST_CASE("random commands have the outcomes of the naive exchange") {
  std::map<std::string, int> outcomes;  // how often each kind occurred
  for (int round = 0; round < rounds; ++round) {
    RandomCommands commands = commands_of(round);
    commands.limits_rates = true;
    Exchange engine;
    NaiveExchange model;
    const auto orders = [&] { return model.orders(); };
    int applied = 0;
    each_command(round, commands, orders, [&](const Command& command, Timestamp now) {
      const std::uint64_t executions = model.executions();
      const Outcome expected = model.apply(command, now);
      REQUIRE(apply_with_tables(engine, model, {}, {}, command, now) == expected);
      if (applied++ % 20 == 0) {
        REQUIRE(engine.check_invariants() == "");
        REQUIRE(state_of(engine) == state_of(model));
      }
      const auto* refusal = std::get_if<Rejected>(&expected);
      const auto* status = std::get_if<Status>(&expected);
      const auto* replaced = std::get_if<Replaced>(&expected);
      ++outcomes[refusal ? std::string(describe(refusal->reason))
                         : "kind " + std::to_string(expected.index())];
      if (status && status->executions.size() > 1) ++outcomes["several executions"];
      if (status && status->open > Shares() && !status->executions.empty())
        ++outcomes["partly filled"];
      if (!replaced) return;
      const bool loses_place = model.place(replaced->order) == model.orders();
      const Side side = std::get<ReplaceOrder>(command).side;
      ++outcomes[std::string(side == Side::buy ? "buy" : "sell") +
                 (model.executions() > executions ? " executed by a replace"
                  : loses_place                   ? " loses its place"
                                                  : " keeps its place")];
    });
    REQUIRE(engine.orders_in_memory() == orders_placed(model));
    REQUIRE(engine.accounts() == model.accounts());
  }
  constexpr std::size_t refusals = 29, finer = 8, others = 2;  // Rejected and NotInMemory
  CHECK(outcomes.size() == refusals + std::variant_size_v<Outcome> - others + finer);
  for (const auto& [outcome, times] : outcomes) {
    INFO("" << outcome);
    CHECK(times >= 10);
  }
}

TEST_CASE("engine and tables together remember all orders, while closed ones are released") {
  for (int round = 0; round < rounds; ++round) {
    RandomCommands commands = commands_of(round);
    Exchange engine;
    NaiveExchange model;
    ModelTables tables;
    struct Taken {
      ClosedMark mark;
      std::set<OrderId> closed;
    };
    std::deque<Taken> taken;  // in the tables, and not released yet
    std::set<OrderId> released;
    const auto orders = [&] { return model.orders(); };
    each_command(round, commands, orders, [&](const Command& command, Timestamp now) {
      const Outcome outcome = apply_with_tables(engine, model, tables, released, command, now);
      REQUIRE(outcome == model.apply(command, now));
      if (commands.below(10) == 0) {
        Rows rows;
        const ClosedMark mark = engine.take_changes(rows);
        tables.write(rows);
        taken.push_back({mark, closed_orders(model)});
      }
      if (commands.below(15) == 0 && !taken.empty()) {
        engine.release_closed(taken.front().mark);
        released = std::move(taken.front().closed);
        taken.pop_front();
        REQUIRE(engine.orders_in_memory() == orders_placed(model) - released.size());
        REQUIRE(engine.check_invariants() == "");
        REQUIRE(state_of(engine) == state_of(model));
      }
    });
  }
}

TEST_CASE("a hand-over in steps has the rows of its beginning, whatever commands come in between") {
  const auto sorted = [](const Rows& rows) {
    std::vector<std::string> all = lines(rows);
    std::sort(all.begin(), all.end());
    return all;
  };
  int longest = 0;
  for (int round = 0; round < rounds; ++round) {
    RandomCommands commands = commands_of(round);
    Exchange whole, stepped;
    Rows rows_of_whole, rows;
    ClosedMark mark = 0;
    int steps = 0;  // of the hand-over in progress
    const auto orders = [&] { return whole.totals().orders; };
    each_command(round, commands, orders, [&](const Command& command, Timestamp now) {
      REQUIRE(stepped.apply(command, now) == whole.apply(command, now));
      if (steps == 0) {
        if (commands.below(20) != 0) return;
        mark = whole.take_changes(rows_of_whole);
        REQUIRE(stepped.begin_hand_over(rows) == mark);
        steps = 1;
        return;
      }
      longest = std::max(longest, ++steps);
      if (!stepped.continue_hand_over(rows, commands.below(3))) return;
      REQUIRE(sorted(rows) == sorted(rows_of_whole));
      REQUIRE(rows.totals == rows_of_whole.totals);
      REQUIRE(stepped.changed_rows() == whole.changed_rows());
      whole.release_closed(mark);
      for (bool all = false; !all;) {
        const std::size_t before = stepped.orders_in_memory();
        all = stepped.release_closed(mark, 1);
        REQUIRE(stepped.orders_in_memory() + 1 >= before);
      }
      REQUIRE(stepped.orders_in_memory() == whole.orders_in_memory());
      REQUIRE(stepped.check_invariants() == "");
      steps = 0;
    });
  }
  CHECK(longest > 20);
}

TEST_CASE("an exchange rebuilt from its tables goes on as if it had never stopped") {
  for (int round = 0; round < rounds; ++round) {
    RandomCommands commands = commands_of(round);
    Exchange first, rebuilt;  // the first never stops, the other is rebuilt now and then
    NaiveExchange model;
    OrderId replaces = 0;  // in the tables
    ModelTables tables;
    std::set<OrderId> released;
    const auto orders = [&] { return model.orders(); };
    each_command(round, commands, orders, [&](const Command& command, Timestamp now) {
      const Outcome outcome = apply_with_tables(first, model, {}, {}, command, now);
      REQUIRE(outcome == model.apply(command, now));
      REQUIRE(apply_with_tables(rebuilt, model, tables, released, command, now) == outcome);
      REQUIRE(rebuilt.totals() == first.totals());
      if (commands.below(20) != 0) return;

      Rows rows_of_first, rows;
      first.take_changes(rows_of_first);
      rebuilt.take_changes(rows);
      REQUIRE(lines(rows) == lines(rows_of_first));
      REQUIRE(rows.totals == rows_of_first.totals);
      tables.write(rows);
      Rows replacements, expected;
      replacements.replacements = rows.replacements;
      for (; replaces < model.replaces(); ++replaces)
        expected.replacements.push_back(
            std::next(model.replacements().begin(), std::ptrdiff_t(replaces))->second);
      REQUIRE(lines(replacements) == lines(expected));
      for (const OrderRow& row : rows.orders) REQUIRE(row.place == model.place(row.id));
      for (const ExecutionRow& row : rows.executions) REQUIRE(row.taker == model.taker(row.id));
      if (commands.below(3) != 0) return;

      const Rows image = tables.image();
      for (const OrderRow& row : image.orders) REQUIRE(row.place == model.place(row.id));
      for (const ExecutionRow& row : image.executions) REQUIRE(row.taker == model.taker(row.id));
      for (const AccountRulesRow& row : image.account_rules)
        REQUIRE(row.name == model.name(image.accounts[row.account].id));
      rebuilt = Exchange(image);
      released = closed_orders(model);
      REQUIRE(rebuilt.check_invariants() == "");
      REQUIRE(rebuilt.changed_rows() == 0);
      REQUIRE(rebuilt.accounts() == first.accounts());
      REQUIRE(rebuilt.orders_in_memory() == orders_placed(model) - released.size());
      REQUIRE(state_of(rebuilt) == state_of(first));
    });
  }
}

TEST_CASE("replaying only the commands that changed state gives the same state and digest") {
  for (int round = 0; round < rounds; ++round) {
    RandomCommands commands = commands_of(round);
    Exchange engine, replayed;
    const auto orders = [&] { return engine.totals().orders; };
    each_command(round, commands, orders, [&](const Command& command, Timestamp now) {
      const Totals before = engine.totals();
      const Outcome outcome = engine.apply(command, now);
      REQUIRE(changed_state(outcome) == (engine.totals().digest != before.digest));
      if (changed_state(outcome))
        REQUIRE(replayed.apply(command, now) == outcome);
      else
        REQUIRE(engine.totals() == before);
    });
    Rows rows, replayed_rows;
    engine.take_changes(rows);
    replayed.take_changes(replayed_rows);
    REQUIRE(replayed.totals() == engine.totals());
    REQUIRE(lines(replayed_rows) == lines(rows));
    REQUIRE(state_of(replayed) == state_of(engine));
  }
}

TEST_CASE("commands located and prefetched ahead of being applied have the same outcomes") {
  for (int round = 0; round < rounds; ++round) {
    RandomCommands commands = commands_of(round);
    Exchange plain, ahead;
    for (int batches = 0; batches < commands_per_round / 20; ++batches) {
      // The later commands of a batch name accounts and orders that its earlier ones create and
      // close.
      std::vector<Command> batch;
      for (auto size = 1 + commands.below(40); size > 0; --size)
        batch.push_back(commands.next(plain.totals().orders + commands.below(batch.size() + 1)));
      const Timestamp now = commands.next_time();
      std::vector<const Command*> in_order;
      for (const Command& command : batch) in_order.push_back(&command);
      LookAhead look_ahead(ahead, in_order, 0);
      for (const Command& command : batch) {
        INFO("round " << round << ": " << print(command));
        REQUIRE(ahead.apply(command, now, look_ahead.next()) == plain.apply(command, now));
        REQUIRE(ahead.totals() == plain.totals());
      }
      REQUIRE(ahead.check_invariants() == "");
      REQUIRE(state_of(ahead) == state_of(plain));
      Rows rows, plain_rows;
      ahead.release_closed(ahead.take_changes(rows));
      plain.release_closed(plain.take_changes(plain_rows));
      REQUIRE(lines(rows) == lines(plain_rows));
    }
  }
}
