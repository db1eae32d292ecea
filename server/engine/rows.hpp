#pragma once
// Rows are the state of the engine as tables hold it. The same structs carry the changes since the
// last hand-over to the projection and, at a start, the whole image that recovery loads. Each
// struct is described; the columns of the tables follow from that (store/table_traits.hpp).

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/decimal.hpp"
#include "engine/ids.hpp"
#include "engine/key_hash.hpp"
#include "engine/rules.hpp"

namespace exchange {

// The format of a store: of these rows and of the commands in the journal. Its number is that of
// the version that introduced it, 100 for 1.0. It rises if a server of an earlier format could not
// read what this one writes, so for each new column. All formats from 100 on stay readable.
inline constexpr std::uint8_t store_format = 101;

struct AccountRow {
  AccountNumber number;
  AccountId id;
  Cash balance;            // the free part; reservations of open buys follow from the orders
  EventNumber events = 0;  // the number of its newest event; 0: events are not recorded
  bool operator==(const AccountRow&) const = default;
};
BOOST_DESCRIBE_STRUCT(AccountRow, (), (number, id, balance, events))
// The key of an account that has or had one.
struct AccountKeyRow {
  AccountNumber account;
  KeyHash key;  // without a hash: it was revoked
  bool operator==(const AccountKeyRow&) const = default;
};
BOOST_DESCRIBE_STRUCT(AccountKeyRow, (), (account, key))
// The rules of an account for which the operator has set rules, or a name.
struct AccountRulesRow {
  AccountNumber account;
  // as in AccountRules
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
  // as in Instrument
  Price tick = {}, price_min = {}, price_max = {}, band = {};
  Shares lot = {}, order_max = {};
  AtBand at_band = {};
  Trading trading = {};
  Timestamp trading_since = {};  // when `trading` last changed; 0: never
  Price last_price = {};         // price of the newest execution; 0: none
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
  Shares shares;  // as ordered, or as last replaced; the same holds for the limit
  Price limit;
  Shares open;
  Shares canceled;
  Timestamp opened_at;
  Timestamp canceled_at;
  // Among the orders of its price, the one with the lowest place comes first. The place is the id,
  // or the number of the newest replacement that did not keep the place.
  OrderId place;
  bool is_open() const { return open > Shares(); }
  bool operator==(const OrderRow&) const = default;
};
BOOST_DESCRIBE_STRUCT(OrderRow, (),
                      (id, account, symbol, side, shares, limit, open, canceled, opened_at,
                       canceled_at, place))
// The terms of an order before a client replaced it. Never changes.
struct ReplacementRow {
  OrderId number;  // from the same sequence as the ids of orders
  OrderId order;
  Shares shares;  // before
  Price limit;    // before
  bool keeps_place;
  ExecutionId executions_before;  // the newest execution before it, of all orders
  Timestamp time;
  bool operator==(const ReplacementRow&) const = default;
};
BOOST_DESCRIBE_STRUCT(ReplacementRow, (),
                      (number, order, shares, limit, keeps_place, executions_before, time))
// The reference of an order, with the order as its client first sent it. Never changes.
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
  Side taker = Side::buy;   // side of the order that arrived, or was replaced, last
  bool of_auction = false;  // at the auction's price; else at that of the other order
  bool operator==(const ExecutionRow&) const = default;
};
BOOST_DESCRIBE_STRUCT(ExecutionRow, (),
                      (id, symbol, buy_order, sell_order, shares, price, time, of_auction, taker))
// The kind of an event of an account. An execution has one event for each of its two orders.
BOOST_DEFINE_FIXED_ENUM_CLASS(EventKind, std::uint8_t,
                              began,  // recording began: the first event
                              opened, executed_maker, executed_taker, replaced,
                              canceled_client,      // by a request
                              canceled_disconnect,  // with its connection
                              canceled_immediate,   // the rest of an order that may not rest
                              canceled_stp,         // by self-trade prevention
                              shares_received,
                              canceled_operator,  // as the account was frozen
                              shares_taken,       // by the operator, as all below
                              cash_received, cash_taken)
// An event of an account whose events are recorded. The numbers of an account count from 1 without
// a gap. Never changes.
struct EventRow {
  AccountNumber account = 0;
  EventNumber number = 0;
  EventKind kind = {};
  OrderId order = 0;          // 0: none
  SymbolNumber symbol = 0;    // for `began`: 0
  Side side = Side::buy;      // side of the order
  Shares shares;              // opened, replaced: the whole order; else: the shares of this event
  Price price;                // executed: the price; else: the limit, 0 for a market order
  Shares open;                // the order's, after the event
  ExecutionId execution = 0;  // 0: none
  Cash balance;               // free, after the event
  Shares position;            // free, in the symbol, after the event
  BatchNumber batch = 0;      // in the journal
  Timestamp time;
  // the account's reference of the order: set only if a store reads the event
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
  ExecutionId executions_before;  // later ones belong to this round, until the next round
  Timestamp time;
  bool operator==(const RoundRow&) const = default;
};
BOOST_DESCRIBE_STRUCT(RoundRow, (), (number, name, executions_before, time))
// Counters that belong to the state as a whole.
struct Totals {
  OrderId orders = 0;          // ids given so far, and numbers of replacements
  ExecutionId executions = 0;  // ids given so far
  Cash cash_created;
  Timestamp last_time;  // time of the newest command applied
  // hash over every outcome that changed state; equal histories have equal digests
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
