#include "engine/image.hpp"

#include <stdexcept>

#include "engine/settlement.hpp"

namespace exchange {

namespace {

void require(bool sound, const char* table, std::uint64_t key, const char* problem) {
  if (!sound)
    throw std::runtime_error(std::string(table) + " row " + std::to_string(key) + ": " + problem);
}

}  // namespace

void load_image(const Rows& image, ExchangeState& state) {
  const auto is_known = [&](const auto& row) {
    return row.account < state.ledger.accounts() && row.symbol < state.ledger.symbols();
  };
  for (const AccountRow& row : image.accounts) {
    require(row.number == state.ledger.accounts(), "accounts", row.number,
            "number out of sequence");
    require(state.ledger.find(row.id) == no_index, "accounts", row.number, "id occurs twice");
    require(row.balance >= Cash(), "accounts", row.number, "balance below zero");
    require(row.events < EventNumber(1) << 61, "accounts", row.number, "too many events");
    state.ledger.add_account(row.id, row.balance, row.events);
  }
  for (const AccountKeyRow& row : image.account_keys) {
    require(row.account < state.ledger.accounts(), "account_keys", row.account, "unknown owner");
  }
  for (const AccountRulesRow& row : image.account_rules) {
    require(row.account < state.ledger.accounts(), "account_rules", row.account, "unknown owner");
    require(row.position_max >= Shares(), "account_rules", row.account, "a rule below zero");
    state.ledger.set_rules(row.account, row.rules());
    state.ledger.set_name(row.account, row.name);
  }
  for (const SymbolRow& row : image.symbols) {
    require(row.number == state.ledger.symbols(), "symbols", row.number, "number out of sequence");
    require(state.ledger.find(row.name) == no_index, "symbols", row.number, "name occurs twice");
    require(row.tick >= Price() && row.price_min >= Price() && row.price_max >= Price() &&
                row.band >= Price() && row.lot >= Shares() && row.order_max >= Shares(),
            "symbols", row.number, "a rule below zero");
    require(row.last_price >= Price(), "symbols", row.number, "last price below zero");
    state.ledger.add_symbol(row);
    state.books.add_symbol();
  }
  for (const PositionRow& row : image.positions) {
    const std::uint64_t key = Ledger::key(row.account, row.symbol);
    require(is_known(row), "positions", key, "unknown owner");
    require(row.shares >= Shares(), "positions", key, "shares below zero");
    require(state.ledger.find_position(key) == nullptr, "positions", key, "occurs twice");
    state.ledger.add_position(key).set_shares(row.shares);
  }

  for (const RoundRow& row : image.rounds) {
    require(row.number == state.rounds + 1, "rounds", row.number, "number out of sequence");
    state.rounds = row.number;
  }

  const Totals& totals = image.totals;
  require(totals.orders <= order_ids_max, "totals", 0, "more orders than there can have been");
  require(totals.cash_created >= Cash(), "totals", 0, "cash below zero");
  OrderId last_place = 0;
  for (const OrderRow& row : image.orders) {
    require(row.id > 0 && row.id <= row.place, "orders", row.id, "id behind its place");
    require(row.place > last_place && row.place <= totals.orders, "orders", row.id,
            "place out of sequence");
    require(state.books.find(row.id) == no_index, "orders", row.id, "id occurs twice");
    require(is_known(row), "orders", row.id, "unknown owner");
    require(row.open > Shares() && row.open <= row.shares, "orders", row.id,
            "open shares out of range");
    const Instrument& rules = state.ledger.symbol(row.symbol).instrument;
    const bool may_be_market =
        collects(rules.trading) && (row.side == Side::sell || rules.price_max > Price());
    require(row.limit > Price() || (row.limit == Price() && may_be_market), "orders", row.id,
            "limit not above zero");
    last_place = row.place;
    require(
        row.side == Side::buy || state.ledger.find_position(Ledger::key(row.account, row.symbol)),
        "orders", row.id, "a sell without a position");
    Settlement(state).rest(state.books.add(row));
  }

  // An execution closes at least one of its orders, so it belongs to at most one open order.
  for (const ExecutionRow& row : image.executions) {
    const std::uint32_t buy = state.books.find(row.buy_order),
                        sell = state.books.find(row.sell_order);
    require((buy == no_index) != (sell == no_index), "executions", row.id,
            "not of exactly one open order");
    Books::Order& order = state.books.order(buy == no_index ? sell : buy);
    state.books.add_execution({row.shares, row.price, row.time}, order);
    ++state.ledger.account(order.account).executions;
  }

  for (const ReferenceRow& row : image.references) {
    require(is_known(row), "order_references", row.order, "unknown owner");
    require(row.order > 0 && row.order <= totals.orders, "order_references", row.order,
            "of an order that does not exist");
    require(state.references.find(row.account, row.reference) == nullptr, "order_references",
            row.order, "occurs twice");
    state.references.add(row);
  }
  state.totals = image.totals;
}

std::string check_invariants(const ExchangeState& state) {
  Books::Held held(state.ledger);
  if (std::string violation = state.books.check(state.ledger, held); !violation.empty())
    return violation;
  for (AccountNumber number = 0; number < state.ledger.accounts(); ++number) {
    const Ledger::Account& account = state.ledger.account(number);
    const std::string id(state.ledger.id(number).view());
    if (account.balance < Cash()) return "balance below zero: account " + id;
    held.add_cash(account.balance);
    if (account.open_orders != held.open_orders[number])
      return "open orders miscounted: account " + id;
    if (account.executions != held.executions[number])
      return "executions miscounted: account " + id;
  }
  if (held.too_much || held.cash != UInt128(state.totals.cash_created.units()))
    return "cash not conserved";
  state.ledger.for_each_position([&](std::uint64_t key, const Ledger::Position& position) {
    held.shares[Ledger::symbol_of(key)] += UInt128(position.shares().units());  // never below zero
  });
  for (SymbolNumber number = 0; number < state.ledger.symbols(); ++number)
    if (held.shares[number] != UInt128(state.ledger.symbol(number).shares_total.units()))
      return "shares not conserved: " + std::string(state.ledger.name(number).view());
  return {};
}

}  // namespace exchange
