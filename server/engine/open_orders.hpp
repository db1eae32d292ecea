#pragma once
// The open orders of each account, and of each account in each symbol, the oldest first. Only
// commands that cancel all orders, and orders under a rule position_max, need them. So Books builds
// this index with the first such command and maintains it from then on; before, it costs nothing.
// Owner: Books. Orders are indices there; `account` and `key` (position_key) are the order's.
// Thread: that of the Exchange.

#include <cstdint>
#include <vector>

#include "engine/flat_map.hpp"

namespace exchange {

class OpenOrders {
 public:
  explicit OpenOrders(std::uint64_t hash_seed) : by_key_(hash_seed) {}

  bool in_use() const { return in_use_; }
  // After it, add all orders that are open at that time, the oldest first.
  void start_use() { in_use_ = true; }

  void add(AccountNumber account, std::uint64_t key, std::uint32_t order) {
    if (account >= by_account_.size()) by_account_.resize(account + 1);
    if (order >= links_.size()) links_.resize(std::max<std::size_t>(order + 1, links_.size() * 2));
    append(by_account_[account], 0, order);
    List* list = by_key_.find(key);
    append(list == nullptr ? by_key_.insert(key, {}) : *list, 1, order);
  }
  void remove(AccountNumber account, std::uint64_t key, std::uint32_t order) {
    unlink(by_account_[account], 0, order);
    unlink(*by_key_.find(key), 1, order);
  }

  // Counts pairs of account and symbol that have had an open order since the index is in use.
  std::size_t keys() const { return by_key_.size(); }
  bool has_key(std::uint64_t key) const { return by_key_.find(key) != nullptr; }

  // Returns no_index if there is none.
  std::uint32_t oldest_of_account(AccountNumber account) const {
    return account < by_account_.size() ? by_account_[account].first : no_index;
  }
  // Returns the next order of the same key. `order` must be open.
  std::uint32_t next_of_key(std::uint32_t order) const { return links_[order].of[1].next; }
  std::uint32_t oldest_of_key(std::uint64_t key) const {
    const List* list = by_key_.find(key);
    return list == nullptr ? no_index : list->first;
  }

 private:
  struct List {
    std::uint32_t first = no_index, last = no_index;
  };
  struct Link {
    std::uint32_t previous, next;
  };
  struct Links {
    Link of[2];  // in the list by account, and in that by key
  };

  void append(List& list, int which, std::uint32_t order) {
    links_[order].of[which] = {list.last, no_index};
    (list.last == no_index ? list.first : links_[list.last].of[which].next) = order;
    list.last = order;
  }
  void unlink(List& list, int which, std::uint32_t order) {
    const Link& link = links_[order].of[which];
    (link.previous == no_index ? list.first : links_[link.previous].of[which].next) = link.next;
    (link.next == no_index ? list.last : links_[link.next].of[which].previous) = link.previous;
  }

  bool in_use_ = false;
  std::vector<List> by_account_;
  FlatMap<List> by_key_;
  std::vector<Links> links_;  // by order
};

}  // namespace exchange
