#pragma once
// Whether two sets of rows are equal, field by field.

#include <algorithm>
#include <tuple>

#include "engine/rows.hpp"
#include "store/store.hpp"

namespace exchange::testing {

inline auto fields(const AccountRow& r) { return std::tuple(r.number, r.id, r.balance); }
inline auto fields(const SymbolRow& r) { return std::tuple(r.number, r.name, r.shares_total); }
inline auto fields(const PositionRow& r) { return std::tuple(r.account, r.symbol, r.shares); }
inline auto fields(const OrderRow& r) {
  return std::tuple(r.id, r.account, r.symbol, r.side, r.shares, r.limit, r.open, r.canceled,
                    r.opened_at, r.canceled_at, r.place);
}
inline auto fields(const ExecutionRow& r) {
  return std::tuple(r.id, r.symbol, r.buy_order, r.sell_order, r.shares, r.price, r.time, r.taker);
}
inline auto fields(const ReferenceRow& r) {
  return std::tuple(r.account, r.reference, r.order, r.symbol, r.side, r.shares, r.limit);
}

inline auto fields(const StoredOrder& o) { return std::pair(fields(o.row), o.executions); }

template <class Row>
bool same(const std::vector<Row>& left, const std::vector<Row>& right) {
  return std::equal(left.begin(), left.end(), right.begin(), right.end(),
                    [](const Row& l, const Row& r) { return fields(l) == fields(r); });
}
inline bool same(const Rows& a, const Rows& b) {
  return same(a.accounts, b.accounts) && same(a.symbols, b.symbols) &&
         same(a.positions, b.positions) && same(a.orders, b.orders) &&
         same(a.executions, b.executions) && same(a.references, b.references) &&
         a.totals == b.totals;
}

}  // namespace exchange::testing
