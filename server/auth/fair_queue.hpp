#pragma once
// FairQueue serves addresses in turn, within one address its accounts in turn, and within one
// account first come, first served. Many jobs of one address or account delay the others by one job
// in each turn. Thread: one at a time.

#include <algorithm>
#include <deque>
#include <list>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "base/address_limits.hpp"

namespace exchange {

// Holds one queue for each key and serves the queues in turn. A queue exists only while it has
// jobs.
template <class Key, class Queue>
class InTurn {
 public:
  // Passes the arguments after the key to the push() of its queue.
  template <class... Arguments>
  void push(const Key& key, Arguments&&... arguments) {
    std::list<Key> turn;
    const auto entry = queues_.try_emplace(key).first;
    try {
      if (entry->second.empty()) turn.push_back(key);
      entry->second.push(std::forward<Arguments>(arguments)...);
    } catch (...) {  // no memory
      if (entry->second.empty()) queues_.erase(entry);
      throw;
    }
    turns_.splice(turns_.end(), turn);
  }
  // Requires: not empty.
  auto pop() {
    const auto entry = queues_.find(turns_.front());
    auto job = entry->second.pop();
    if (entry->second.empty()) {
      queues_.erase(entry);
      turns_.pop_front();
    } else {
      turns_.splice(turns_.end(), turns_, turns_.begin());
    }
    return job;
  }
  // Returns the newest job of the longest queue below `key`. Requires: `key` has jobs.
  auto pop_newest_of_longest(const Key& key) {
    const auto entry = queues_.find(key);
    auto job = entry->second.pop_newest_of_longest();
    if (entry->second.empty()) remove(entry);
    return job;
  }
  auto pop_newest_of_longest() {
    const auto longest = std::max_element(
        queues_.begin(), queues_.end(),
        [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
    auto job = longest->second.pop_newest();
    if (longest->second.empty()) remove(longest);
    return job;
  }
  bool empty() const { return turns_.empty(); }
  bool contains(const Key& key) const { return queues_.contains(key); }

 private:
  void remove(typename std::map<Key, Queue>::iterator entry) {
    turns_.remove(entry->first);
    queues_.erase(entry);
  }
  std::map<Key, Queue> queues_;  // a tree: clients cannot choose colliding keys
  std::list<Key> turns_;
};

template <class Job>
class Fifo {
 public:
  void push(Job job) { jobs_.push_back(std::move(job)); }
  Job pop() { return take(jobs_.begin()); }
  Job pop_newest() { return take(jobs_.end() - 1); }
  bool empty() const { return jobs_.empty(); }
  std::size_t size() const { return jobs_.size(); }

 private:
  Job take(typename std::deque<Job>::iterator at) {
    Job job = std::move(*at);
    jobs_.erase(at);
    return job;
  }
  std::deque<Job> jobs_;
};

template <class Job>
class FairQueue {
 public:
  void push(const PeerAddress& address, std::string_view account, Job job) {
    jobs_.push(address, std::string(account), std::move(job));
    ++size_;
  }
  // Requires: not empty.
  Job pop() {
    --size_;
    return jobs_.pop();
  }
  // Returns the newest job of the account that has most jobs of this address. Requires: the address
  // has jobs.
  Job pop_newest_of_longest(const PeerAddress& address) {
    --size_;
    return jobs_.pop_newest_of_longest(address);
  }
  bool contains(const PeerAddress& address) const { return jobs_.contains(address); }
  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }

 private:
  InTurn<PeerAddress, InTurn<std::string, Fifo<Job>>> jobs_;
  std::size_t size_ = 0;
};

}  // namespace exchange
