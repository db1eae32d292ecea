// The state of the exchange as rows: what changed, loading an image, and proving that it is sound.

#include <stdexcept>

#include "engine/exchange.hpp"
#include "engine/prefetch.hpp"

namespace exchange {

// --- what changed

ClosedMark Exchange::take_changes(Rows& rows) {
  const ClosedMark mark = begin_hand_over(rows);
  continue_hand_over(rows, std::numeric_limits<std::size_t>::max());
  return mark;
}

ClosedMark Exchange::begin_hand_over(Rows& rows) {
  ledger_.hand_over(changes_, rows);
  changes_.begin_hand_over(rows);
  rows.totals = totals_;
  return books_.closed();
}

bool Exchange::continue_hand_over(Rows& rows, std::size_t orders_max) {
  for_each_prefetched(
      changes_.next_orders(orders_max),
      [&](std::uint32_t index) __attribute__((always_inline)) {
        __builtin_prefetch(&books_.order(index));
        __builtin_prefetch(&books_.history(index));
      },
      [&](std::uint32_t index) { changes_.hand_over(books_.order(index), read_row(index)); });
  return changes_.end_hand_over(rows);
}

void Exchange::restore_changes(const Rows& rows) {
  ledger_.restore(rows, changes_);
  for (const OrderRow& row : rows.orders) mark_order(books_.find(row.id));
  changes_.restore(rows);
}

std::vector<SymbolRow> Exchange::symbol_rows() const {
  std::vector<SymbolRow> rows;
  for (SymbolNumber number = 0; number < ledger_.symbols(); ++number)
    rows.push_back(ledger_.row(number));
  return rows;
}

bool Exchange::release_closed(ClosedMark mark, std::size_t orders_max) {
  return books_.release_closed(mark, orders_max,
                               [&](AccountNumber account, std::uint32_t executions) {
                                 if (executions > 0)
                                   ledger_.account(account).executions -= executions;
                               });
}

// --- loading

namespace {

void require(bool sound, const char* table, std::uint64_t key, const char* problem) {
  if (!sound)
    throw std::runtime_error(std::string(table) + " row " + std::to_string(key) + ": " + problem);
}

}  // namespace

Exchange::Exchange(const Rows& image, std::uint64_t hash_seed) : Exchange(hash_seed) {
  const auto is_known = [&](const auto& row) {
    return row.account < ledger_.accounts() && row.symbol < ledger_.symbols();
  };
  for (const AccountRow& row : image.accounts) {
    require(row.number == ledger_.accounts(), "accounts", row.number, "number out of sequence");
    require(ledger_.find(row.id) == no_index, "accounts", row.number, "id occurs twice");
    require(row.balance >= Cash(), "accounts", row.number, "balance below zero");
    require(row.events < EventNumber(1) << 61, "accounts", row.number, "too many events");
    ledger_.add_account(row.id, row.balance, row.events);
  }
  for (const AccountKeyRow& row : image.account_keys) {
    require(row.account < ledger_.accounts(), "account_keys", row.account, "unknown owner");
  }
  for (const AccountRulesRow& row : image.account_rules) {
    require(row.account < ledger_.accounts(), "account_rules", row.account, "unknown owner");
    require(row.position_max >= Shares(), "account_rules", row.account, "a rule below zero");
    ledger_.set_rules(row.account, row.rules());
    ledger_.set_name(row.account, row.name);
  }
  for (const SymbolRow& row : image.symbols) {
    require(row.number == ledger_.symbols(), "symbols", row.number, "number out of sequence");
    require(ledger_.find(row.name) == no_index, "symbols", row.number, "name occurs twice");
    require(row.tick >= Price() && row.price_min >= Price() && row.price_max >= Price() &&
                row.band >= Price() && row.lot >= Shares() && row.order_max >= Shares(),
            "symbols", row.number, "a rule below zero");
    require(row.last_price >= Price(), "symbols", row.number, "last price below zero");
    ledger_.add_symbol(row);
    books_.add_symbol();
  }
  for (const PositionRow& row : image.positions) {
    const std::uint64_t key = Ledger::key(row.account, row.symbol);
    require(is_known(row), "positions", key, "unknown owner");
    require(row.shares >= Shares(), "positions", key, "shares below zero");
    require(ledger_.find_position(key) == nullptr, "positions", key, "occurs twice");
    ledger_.add_position(key).set_shares(row.shares);
  }

  for (const RoundRow& row : image.rounds) {
    require(row.number == rounds_ + 1, "rounds", row.number, "number out of sequence");
    rounds_ = row.number;
  }

  const Totals& totals = image.totals;
  require(totals.orders <= order_ids_max, "totals", 0, "more orders than there can have been");
  require(totals.cash_created >= Cash(), "totals", 0, "cash below zero");
  OrderId last_place = 0;
  for (const OrderRow& row : image.orders) {
    require(row.id > 0 && row.id <= row.place, "orders", row.id, "id behind its place");
    require(row.place > last_place && row.place <= totals.orders, "orders", row.id,
            "place out of sequence");
    require(books_.find(row.id) == no_index, "orders", row.id, "id occurs twice");
    require(is_known(row), "orders", row.id, "unknown owner");
    require(row.open > Shares() && row.open <= row.shares, "orders", row.id,
            "open shares out of range");
    const Instrument& rules = ledger_.symbol(row.symbol).instrument;
    const bool may_be_market =
        collects(rules.trading) && (row.side == Side::sell || rules.price_max > Price());
    require(row.limit > Price() || (row.limit == Price() && may_be_market), "orders", row.id,
            "limit not above zero");
    last_place = row.place;
    require(row.side == Side::buy || ledger_.find_position(Ledger::key(row.account, row.symbol)),
            "orders", row.id, "a sell without a position");
    rest(books_.add(row));
  }

  // An execution closes at least one of its orders, so that it belongs to one open order at most.
  for (const ExecutionRow& row : image.executions) {
    const std::uint32_t buy = books_.find(row.buy_order), sell = books_.find(row.sell_order);
    require((buy == no_index) != (sell == no_index), "executions", row.id,
            "not of exactly one open order");
    Order& order = books_.order(buy == no_index ? sell : buy);
    books_.add_execution({row.shares, row.price, row.time}, order);
    ++ledger_.account(order.account).executions;
  }

  for (const ReferenceRow& row : image.references) {
    require(is_known(row), "order_references", row.order, "unknown owner");
    require(row.order > 0 && row.order <= totals.orders, "order_references", row.order,
            "of an order that does not exist");
    require(references_.find(row.account, row.reference) == nullptr, "order_references", row.order,
            "occurs twice");
    references_.add(row);
  }
  totals_ = image.totals;
}

// --- proof

std::string Exchange::check_invariants() const {
  Books::Held held(ledger_);
  if (std::string violation = books_.check(ledger_, held); !violation.empty()) return violation;
  for (AccountNumber number = 0; number < ledger_.accounts(); ++number) {
    const Ledger::Account& account = ledger_.account(number);
    const std::string id(ledger_.id(number).view());
    if (account.balance < Cash()) return "balance below zero: account " + id;
    held.add_cash(account.balance);
    if (account.open_orders != held.open_orders[number])
      return "open orders miscounted: account " + id;
    if (account.executions != held.executions[number])
      return "executions miscounted: account " + id;
  }
  if (held.too_much || held.cash != UInt128(totals_.cash_created.units()))
    return "cash not conserved";
  ledger_.for_each_position([&](std::uint64_t key, const Ledger::Position& position) {
    held.shares[Ledger::symbol_of(key)] += UInt128(position.shares().units());  // never below zero
  });
  for (SymbolNumber number = 0; number < ledger_.symbols(); ++number)
    if (held.shares[number] != UInt128(ledger_.symbol(number).shares_total.units()))
      return "shares not conserved: " + std::string(ledger_.name(number).view());
  return {};
}

}  // namespace exchange
