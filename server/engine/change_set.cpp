#include "engine/change_set.hpp"

#include <algorithm>

#include "base/ensure.hpp"

namespace exchange {

namespace {

// Reserves twice the need: hand-overs differ in size, and each small growth would move the rows to
// new memory.
template <class Row>
void make_room(std::vector<Row>& rows, std::size_t size) {
  if (size > rows.capacity()) rows.reserve(2 * size);
}

template <class Row>
void move_over(std::vector<Row>& from, std::vector<Row>& to) {
  to.clear();
  to.swap(from);
}

template <class Row>
void put_before(const std::vector<Row>& rows, std::vector<Row>& later) {
  later.insert(later.begin(), rows.begin(), rows.end());
}

// Keeps one row for each account: the newest.
template <class Row>
void keep_newest(std::vector<Row>& rows) {
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Row& a, const Row& b) { return a.account < b.account; });
  const auto last = std::unique(rows.rbegin(), rows.rend(),
                                [](const Row& a, const Row& b) { return a.account == b.account; });
  rows.erase(rows.begin(), last.base());
}

}  // namespace

void ChangeSet::begin_hand_over(Rows& rows) {
  ENSURE(next_handed_ == handed_orders_.size());
  accounts_.clear();
  symbols_.clear();
  positions_.clear();
  move_over(orders_, handed_orders_);
  next_handed_ = 0;
  order_mark_ = std::uint8_t(3 - order_mark_);
  move_over(copied_orders_, rows.orders);
  make_room(copied_orders_, handed_orders_.size());
  move_over(executions, rows.executions);
  make_room(executions, rows.executions.size());
  move_over(account_keys, rows.account_keys);
  keep_newest(rows.account_keys);
  move_over(account_rules, rows.account_rules);
  keep_newest(rows.account_rules);
  move_over(references, rows.references);
  move_over(replacements, rows.replacements);
  move_over(events, rows.events);
  move_over(rounds, rows.rounds);
}

std::span<const std::uint32_t> ChangeSet::next_orders(std::size_t max) {
  const std::span<const std::uint32_t> left = std::span(handed_orders_).subspan(next_handed_);
  const std::span<const std::uint32_t> step = left.first(std::min(max, left.size()));
  next_handed_ += step.size();
  return step;
}

bool ChangeSet::end_hand_over(Rows& rows) {
  if (next_handed_ < handed_orders_.size()) return false;
  rows.orders.swap(copied_orders_);
  return true;
}

void ChangeSet::restore(const Rows& rows) {
  put_before(rows.executions, executions);
  put_before(rows.account_keys, account_keys);
  put_before(rows.account_rules, account_rules);
  put_before(rows.references, references);
  put_before(rows.replacements, replacements);
  put_before(rows.events, events);
  put_before(rows.rounds, rounds);
}

}  // namespace exchange
