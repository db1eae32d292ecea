#pragma once
// FairQueue serves addresses in turn, and first come first served within one, so that many jobs of
// one address keep the others waiting for one job each turn. Thread: one at a time.

#include <deque>
#include <list>
#include <map>
#include <utility>

#include "base/peer_address.hpp"

namespace exchange {

template <class Job>
class FairQueue {
 public:
  void push(const PeerAddress& address, Job job) {
    std::list<PeerAddress> turn;
    std::deque<Job>& jobs = jobs_[address];
    if (jobs.empty()) turn.push_back(address);
    jobs.push_back(std::move(job));
    turns_.splice(turns_.end(), turn);  // nothing is changed if one of the above throws
    ++size_;
  }
  // Of a queue that is not empty.
  Job pop() {
    const auto entry = jobs_.find(turns_.front());
    Job job = std::move(entry->second.front());
    entry->second.pop_front();
    if (entry->second.empty()) {
      jobs_.erase(entry);
      turns_.pop_front();
    } else {
      turns_.splice(turns_.end(), turns_, turns_.begin());
    }
    --size_;
    return job;
  }
  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }

 private:
  std::map<PeerAddress, std::deque<Job>> jobs_;  // a tree: clients cannot choose colliding keys
  std::list<PeerAddress> turns_;                 // those that have jobs
  std::size_t size_ = 0;
};

}  // namespace exchange
