#pragma once
// RecentEvents keeps the newest events of accounts in memory.
// Invariants:
// 1. The events of one account have numbers without a gap. After a gap it has the later ones.
// 2. It has at most rows_max events; it drops the oldest first.
// Owner: AccountEvents. Thread: that of its owner.

#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

#include "engine/rows.hpp"

namespace exchange {

class RecentEvents {
 public:
  explicit RecentEvents(std::size_t rows_max) : rows_max_(rows_max) {}

  void add(EventRow row) {
    std::deque<std::uint64_t>& own = of_[row.account];
    if (!own.empty() && row.number != at(own.back()).number + 1) own.clear();
    own.push_back(first_ + rows_.size());
    rows_.push_back(std::move(row));
    if (rows_.size() > rows_max_) drop_oldest();
  }
  void clear() {
    rows_.clear();
    of_.clear();
  }

  bool has(AccountNumber account, EventNumber number) const {
    const auto own = of_.find(account);
    return own != of_.end() && at(own->second.front()).number <= number &&
           at(own->second.back()).number >= number;
  }
  // Returns the events from `number` on, at most `max`. Requires: has(account, number).
  std::vector<EventRow> read(AccountNumber account, EventNumber number, std::size_t max) const {
    const std::deque<std::uint64_t>& own = of_.find(account)->second;
    std::vector<EventRow> events;
    for (std::size_t i = number - at(own.front()).number; i < own.size() && max > 0; ++i, --max)
      events.push_back(at(own[i]));
    return events;
  }

 private:
  const EventRow& at(std::uint64_t place) const { return rows_[place - first_]; }
  void drop_oldest() {
    const auto own = of_.find(rows_.front().account);
    if (own != of_.end() && own->second.front() == first_) {
      own->second.pop_front();
      if (own->second.empty()) of_.erase(own);
    }
    rows_.pop_front();
    ++first_;
  }

  const std::size_t rows_max_;
  std::deque<EventRow> rows_;
  std::uint64_t first_ = 0;  // the place of the first row; places count all rows that ever were
  std::unordered_map<AccountNumber, std::deque<std::uint64_t>> of_;  // places; never empty
};

}  // namespace exchange
