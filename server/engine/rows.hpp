#pragma once
// Rows: the state of the engine as tables hold it. The same structs carry what changed since the
// last hand-over to the projection and, at start, the whole image that recovery loads. Each is
// described; the columns of the tables follow from that (store/table_traits.hpp).

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/decimal.hpp"
#include "engine/ids.hpp"
#include "engine/key_hash.hpp"
#include "engine/rules.hpp"

namespace exchange {

// The format of a store: of these rows and of the commands in the journal. Its number is that of
// the version in which it was new, 100 for 1.0. It rises if a server of an earlier format could not
// read what this one writes, so for each new column; all formats from 100 on stay readable.
inline constexpr std::uint8_t store_format = 101;

struct AccountRow {
  AccountNumber number;
  AccountId id;
  Cash balance;            // the free part; reservations of open buys follow from the orders
  EventNumber events = 0;  // the number of its newest event; 0: none are recorded
  bool operator==(const AccountRow&) const = default;
};
BOOST_DESCRIBE_STRUCT(AccountRow, (), (number, id, balance, events))
// Of accounts that have or had a key.
struct AccountKeyRow {
  AccountNumber account;
  KeyHash key;  // none: it was revoked
  bool operator==(const AccountKeyRow&) const = default;
};
BOOST_DESCRIBE_STRUCT(AccountKeyRow, (), (account, key))
// Of accounts for which the operator has set rules, or a name.
struct AccountRulesRow {
  AccountNumber account;
  // as of AccountRules
  Role role = {};
  Access access = {};
  std::uint64_t orders_max = 0, orders_per_second_max = 0;
  Shares position_max = {};
  AccountName name = {};
  AccountRules rules() const {
    AccountRules rules;
    copy_shared_members(*this, rules);
    return rules;
  }
  bool operator==(const AccountRulesRow&) const = default;
};
BOOST_DESCRIBE_STRUCT(AccountRulesRow, (),
                      (account, role, access, orders_max, orders_per_second_max, position_max,
                       name))
struct SymbolRow {
  SymbolNumber number;
  SymbolName name;
  Shares shares_total;  // all shares ever created
  // as of Instrument
  Price tick = {}, price_min = {}, price_max = {}, band = {};
  Shares lot = {}, order_max = {};
  AtBand at_band = {};
  Trading trading = {};
  Timestamp trading_since = {};  // of the last change of `trading`; 0: none
  Price last_price = {};         // of the newest execution; 0: none
  Instrument instrument() const {
    Instrument instrument;
    copy_shared_members(*this, instrument);
    return instrument;
  }
  bool operator==(const SymbolRow&) const = default;
};
BOOST_DESCRIBE_STRUCT(SymbolRow, (),
                      (number, name, shares_total, tick, price_min, price_max, band, lot, order_max,
                       at_band, trading, trading_since, last_price))
struct PositionRow {
  AccountNumber account;
  SymbolNumber symbol;
  Shares shares;  // the free part; reservations of open sells follow from the orders
  bool operator==(const PositionRow&) const = default;
};
BOOST_DESCRIBE_STRUCT(PositionRow, (), (account, symbol, shares))
struct OrderRow {
  OrderId id;
  AccountNumber account;
  SymbolNumber symbol;
  Side side;
  Shares shares;  // as ordered, or as replaced last; so is the limit
  Price limit;
  Shares open;
  Shares canceled;
  Timestamp opened_at;
  Timestamp canceled_at;
  // Among the orders of its price, the one with the lowest place comes first: the id, or the number
  // of its newest replacement that did not keep the place.
  OrderId place;
  bool is_open() const { return open > Shares(); }
  bool operator==(const OrderRow&) const = default;
};
BOOST_DESCRIBE_STRUCT(OrderRow, (),
                      (id, account, symbol, side, shares, limit, open, canceled, opened_at,
                       canceled_at, place))
// What an order was before a client replaced it. Never changes.
struct ReplacementRow {
  OrderId number;  // from the same sequence as the ids of orders
  OrderId order;
  Shares shares;  // before
  Price limit;    // before
  bool keeps_place;
  ExecutionId executions_before;  // those of all orders, up to this id
  Timestamp time;
  bool operator==(const ReplacementRow&) const = default;
};
BOOST_DESCRIBE_STRUCT(ReplacementRow, (),
                      (number, order, shares, limit, keeps_place, executions_before, time))
// The reference of an order, with the order as its client sent it first. Never changes.
struct ReferenceRow {
  AccountNumber account;
  OrderId order;
  OrderReference reference;
  SymbolNumber symbol;
  Side side;
  Shares shares;
  Price limit;
  bool operator==(const ReferenceRow&) const = default;
};
BOOST_DESCRIBE_STRUCT(ReferenceRow, (), (account, order, reference, symbol, side, shares, limit))
struct ExecutionRow {
  ExecutionId id;
  SymbolNumber symbol;
  OrderId buy_order;
  OrderId sell_order;
  Shares shares;
  Price price;
  Timestamp time;
  Side taker = Side::buy;   // of the order that arrived, or was replaced, last
  bool of_auction = false;  // at its price; else at that of the other order
  bool operator==(const ExecutionRow&) const = default;
};
BOOST_DESCRIBE_STRUCT(ExecutionRow, (),
                      (id, symbol, buy_order, sell_order, shares, price, time, of_auction, taker))
// What happened to an account. An execution has one event for each of its two orders.
BOOST_DEFINE_FIXED_ENUM_CLASS(EventKind, std::uint8_t,
                              began,  // to be recorded: the first event
                              opened, executed_maker, executed_taker, replaced,
                              canceled_client,      // by a request
                              canceled_disconnect,  // with its connection
                              canceled_immediate,   // the rest of an order that may not rest
                              canceled_stp,         // by self-trade prevention
                              shares_received,
                              canceled_operator,  // as the account was frozen
                              shares_taken,       // by the operator, as all below
                              cash_received, cash_taken)
// Of accounts whose events are recorded. Numbers of an account count from 1 without a gap. Never
// changes.
struct EventRow {
  AccountNumber account = 0;
  EventNumber number = 0;
  EventKind kind = {};
  OrderId order = 0;          // 0: of none
  SymbolNumber symbol = 0;    // of `began`: 0
  Side side = Side::buy;      // of the order
  Shares shares;              // opened, replaced: of the order as a whole; else: these
  Price price;                // executed: the price; else: the limit, 0 of a market order
  Shares open;                // of the order, after it
  ExecutionId execution = 0;  // 0: of none
  Cash balance;               // free, after it
  Shares position;            // free, of the symbol, after it
  BatchNumber batch = 0;      // of the journal
  Timestamp time;
  // what the account calls the order: only where a store reads it
  std::optional<OrderReference> reference = {};
  bool operator==(const EventRow&) const = default;
};
BOOST_DESCRIBE_STRUCT(EventRow, (),
                      (account, number, kind, order, symbol, side, shares, price, open, execution,
                       balance, position, batch, time, reference))
// A round of the leaderboard (docs/protocol.md, G1).
struct RoundRow {
  std::uint64_t number;  // from 1
  OrderReference name;
  ExecutionId executions_before;  // later ones are of this round, until the next
  Timestamp time;
  bool operator==(const RoundRow&) const = default;
};
BOOST_DESCRIBE_STRUCT(RoundRow, (), (number, name, executions_before, time))
// Counters that belong to the state as a whole.
struct Totals {
  OrderId orders = 0;          // ids given so far, and numbers of replacements
  ExecutionId executions = 0;  // ids given so far
  Cash cash_created;
  Timestamp last_time;  // of the newest command applied
  // over every outcome that changed state; equal histories have equal digests
  std::uint64_t digest = 0;
  bool operator==(const Totals&) const = default;
};
BOOST_DESCRIBE_STRUCT(Totals, (), (orders, executions, cash_created, last_time))  // no digest
struct Rows {
  std::vector<AccountRow> accounts;
  std::vector<AccountKeyRow> account_keys;
  std::vector<AccountRulesRow> account_rules;
  std::vector<SymbolRow> symbols;
  std::vector<PositionRow> positions;
  std::vector<OrderRow> orders;
  std::vector<ReferenceRow> references;
  std::vector<ReplacementRow> replacements;
  std::vector<ExecutionRow> executions;
  std::vector<EventRow> events;
  std::vector<RoundRow> rounds;
  Totals totals;
  std::size_t size() const;  // without totals
  bool operator==(const Rows&) const = default;
};
BOOST_DESCRIBE_STRUCT(Rows, (),
                      (accounts, account_keys, account_rules, symbols, positions, orders,
                       references, replacements, executions, events, rounds))

inline std::size_t Rows::size() const {
  std::size_t size = 0;
  for_each_member<Rows>([&](auto member) { size += (this->*member.pointer).size(); });
  return size;
}

}  // namespace exchange
