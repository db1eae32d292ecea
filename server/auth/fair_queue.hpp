#pragma once
// FairQueue serves addresses in turn, and first come first served within one, so that many jobs of
// one address keep the others waiting for one job each turn. Thread: one at a time.

#include <deque>
#include <map>
#include <utility>

#include "base/peer_address.hpp"

namespace exchange {

template <class Job>
class FairQueue {
 public:
  void push(const PeerAddress& address, Job job) {
    std::deque<Job>& jobs = jobs_[address];
    if (jobs.empty()) turns_.push_back(address);
    jobs.push_back(std::move(job));
    ++size_;
  }
  // Of a queue that is not empty.
  Job pop() {
    const PeerAddress address = turns_.front();
    turns_.pop_front();
    const auto entry = jobs_.find(address);
    Job job = std::move(entry->second.front());
    entry->second.pop_front();
    if (entry->second.empty())
      jobs_.erase(entry);
    else
      turns_.push_back(address);
    --size_;
    return job;
  }
  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }

 private:
  std::map<PeerAddress, std::deque<Job>> jobs_;  // a tree: clients cannot choose colliding keys
  std::deque<PeerAddress> turns_;                // those that have jobs
  std::size_t size_ = 0;
};

}  // namespace exchange
