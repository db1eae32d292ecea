#pragma once
// A fill is one account's part of an execution. Fills have no table: the stores find them in the
// executions, by the accounts of both orders (select_fills in table_traits.hpp), so that a
// projection writes nothing for them. No state; any thread.

#include <optional>
#include <utility>
#include <vector>

#include "engine/rows.hpp"

namespace exchange {

struct Fill {
  ExecutionId execution;
  OrderId order;  // of the account
  SymbolNumber symbol;
  Side side;
  Shares shares;
  Price price;
  bool is_taker, of_auction;
  Timestamp time;
  std::optional<OrderReference> reference;  // of the order
  bool operator==(const Fill&) const = default;
};

// Selects the executions after `after`, up to `through`; of those of the account the first
// `executions_max`, oldest or newest first. A read takes time for each execution of any account
// that it passes.
struct FillRange {
  AccountNumber account;
  ExecutionId after, through;
  std::size_t executions_max;
  bool newest_first = false;
};

struct Fills {
  std::vector<Fill> list;  // an execution of two orders of the account has two, the maker's first
  ExecutionId newest = 0;  // in the tables; the list may lack later ones
};

// An execution with the accounts and references of both orders; index 0 is the buy.
struct FilledOrders {
  ExecutionRow execution;
  AccountNumber accounts[2];
  std::optional<OrderReference> references[2];
};

inline void add_fills(std::vector<Fill>& fills, const FilledOrders& filled, AccountNumber account) {
  const ExecutionRow& row = filled.execution;
  const Side maker = row.taker == Side::buy ? Side::sell : Side::buy;
  for (const Side side : {maker, row.taker}) {
    const bool is_sell = side == Side::sell;
    if (filled.accounts[is_sell] != account) continue;
    fills.push_back({row.id, is_sell ? row.sell_order : row.buy_order, row.symbol, side, row.shares,
                     row.price, side == row.taker, row.of_auction, row.time,
                     filled.references[is_sell]});
  }
}

}  // namespace exchange
