#pragma once
// Rows: the state of the engine as tables hold it. The same structs carry what changed since the
// last hand-over to the projection and, at start, the whole image that recovery loads. Each is
// described; the columns of the tables follow from that (store/tables.hpp).

#include <cstdint>
#include <vector>

#include "engine/decimal.hpp"
#include "engine/ids.hpp"
#include "engine/key_hash.hpp"

namespace exchange {

// The format of a store: of these rows and of the commands in the journal. Its number is that of
// the version in which it was new, 100 for 1.0. It rises if a server of an earlier format could not
// read what this one writes, so for each new column; all formats from 100 on stay readable.
inline constexpr std::uint8_t store_format = 100;

struct AccountRow {
  AccountNumber number;
  AccountId id;
  Cash balance;  // the free part; reservations of open buys follow from the orders
  bool operator==(const AccountRow&) const = default;
};
BOOST_DESCRIBE_STRUCT(AccountRow, (), (number, id, balance))
// Of accounts that were created with a key. Never changes.
struct AccountKeyRow {
  AccountNumber account;
  KeyHash key;
  bool operator==(const AccountKeyRow&) const = default;
};
BOOST_DESCRIBE_STRUCT(AccountKeyRow, (), (account, key))
struct SymbolRow {
  SymbolNumber number;
  SymbolName name;
  Shares shares_total;  // all shares ever created
  bool operator==(const SymbolRow&) const = default;
};
BOOST_DESCRIBE_STRUCT(SymbolRow, (), (number, name, shares_total))
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
  Side taker = Side::buy;  // of the order that arrived, or was replaced, last
  bool operator==(const ExecutionRow&) const = default;
};
BOOST_DESCRIBE_STRUCT(ExecutionRow, (),
                      (id, symbol, buy_order, sell_order, shares, price, time, taker))
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
  std::vector<SymbolRow> symbols;
  std::vector<PositionRow> positions;
  std::vector<OrderRow> orders;
  std::vector<ReferenceRow> references;
  std::vector<ReplacementRow> replacements;
  std::vector<ExecutionRow> executions;
  Totals totals;
  std::size_t size() const;  // without totals
  bool operator==(const Rows&) const = default;
};
BOOST_DESCRIBE_STRUCT(Rows, (),
                      (accounts, account_keys, symbols, positions, orders, references, replacements,
                       executions))

inline std::size_t Rows::size() const {
  std::size_t size = 0;
  for_each_member<Rows>([&](auto member) { size += (this->*member.pointer).size(); });
  return size;
}

}  // namespace exchange
