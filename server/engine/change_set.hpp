#pragma once
// ChangeSet owns the list of what changed since a hand-over of rows began: numbers of accounts and
// symbols, keys of positions and indices of orders, each once, and rows that are new and never
// change again. It has no values: Ledger and Exchange read them for a hand-over.
// Invariants:
// 1. What changed since a hand-over began is in the next one, once, with its value at that time.
// 2. A hand-over has each order as it was when the hand-over began: one that changes before its
//    turn is copied first.
// 3. An entity's flag is set exactly if it is in a list here.
// Owner: Exchange. Thread: that of the Exchange.

#include <cstdint>
#include <span>
#include <vector>

#include "engine/rows.hpp"

namespace exchange {

class ChangeSet {
 public:
  // Each marks an entity that has a flag for it, which Ledger::hand_over() clears.
  template <class Entity>
  void mark_account(Entity& account, AccountNumber number) {
    mark(account, number, accounts_);
  }
  template <class Entity>
  void mark_symbol(Entity& symbol, SymbolNumber number) {
    mark(symbol, number, symbols_);
  }
  template <class Entity>
  void mark_position(Entity& position, std::uint64_t key) {
    mark(position, key, positions_);
  }

  // Marks an order. Call it before the order changes, because orders are handed over in steps: if
  // the order still has to be handed over, read_row() copies it now.
  template <class Order, class ReadRow>
  void mark_order(Order& order, std::uint32_t index, ReadRow read_row) {
    if (order.dirty == order_mark_) return;
    if (order.dirty != 0) read_row(copied_orders_.emplace_back());
    order.dirty = order_mark_;
    orders_.push_back(index);
  }

  std::vector<ExecutionRow> executions;
  std::vector<AccountKeyRow> account_keys;  // as they came; the engine keeps no keys
  std::vector<AccountRulesRow> account_rules;
  std::vector<ReferenceRow> references;
  std::vector<ReplacementRow> replacements;
  std::vector<EventRow> events;
  std::vector<RoundRow> rounds;

  // Returns the number of entities changed now, or since a hand-over began.
  std::size_t size() const {
    return accounts_.size() + symbols_.size() + positions_.size() + orders_.size() +
           executions.size() + account_keys.size() + account_rules.size() + references.size() +
           replacements.size() + events.size() + rounds.size();
  }

  // --- handing over

  std::span<const AccountNumber> accounts() const { return accounts_; }
  std::span<const SymbolNumber> symbols() const { return symbols_; }
  std::span<const std::uint64_t> positions() const { return positions_; }
  // Call it once the rows of these three are in `rows`. Adds the new rows, and the orders copied
  // already (none). Later changes belong to the next hand-over.
  void begin_hand_over(Rows& rows);
  // Returns the next orders to hand over, at most `max`.
  std::span<const std::uint32_t> next_orders(std::size_t max);
  // Copies the order, unless it changed since, and was copied then.
  template <class Order, class ReadRow>
  void hand_over(Order& order, ReadRow read_row) {
    if (order.dirty == order_mark_) return;
    read_row(copied_orders_.emplace_back());
    order.dirty = 0;
  }
  // Returns true if all orders are handed over; then adds them to `rows`.
  bool end_hand_over(Rows& rows);

  // Marks the new rows in `rows`, which are not in the tables, as new again.
  void restore(const Rows& rows);

 private:
  template <class Entity, class Key>
  static void mark(Entity& entity, Key key, std::vector<Key>& changed) {
    if (entity.dirty()) return;
    entity.set_dirty(true);
    changed.push_back(key);
  }

  std::vector<AccountNumber> accounts_;
  std::vector<SymbolNumber> symbols_;
  std::vector<std::uint64_t> positions_;
  std::vector<std::uint32_t> orders_;
  // The orders of a hand-over, those copied so far, and the next one to copy. order_mark_ is 1 or
  // 2; each hand-over uses the other value.
  std::vector<std::uint32_t> handed_orders_;
  std::vector<OrderRow> copied_orders_;
  std::size_t next_handed_ = 0;
  std::uint8_t order_mark_ = 1;
};

}  // namespace exchange
