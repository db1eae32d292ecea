#pragma once
// A queue that serves peers in turn, and first come first served within one, so that a crowd behind
// one address keeps nobody else waiting longer than one job for each other peer. Thread: one at a
// time.

#include <deque>
#include <map>
#include <utility>

#include "protocol/credentials.hpp"

namespace exchange {

template <class Job>
class PeerQueue {
 public:
  void push(const Peer& peer, Job job) {
    std::deque<Job>& jobs = jobs_[peer];
    if (jobs.empty()) turns_.push_back(peer);
    jobs.push_back(std::move(job));
    ++size_;
  }
  // Of a queue that is not empty.
  Job pop() {
    const Peer peer = turns_.front();
    turns_.pop_front();
    const auto entry = jobs_.find(peer);
    Job job = std::move(entry->second.front());
    entry->second.pop_front();
    if (entry->second.empty())
      jobs_.erase(entry);
    else
      turns_.push_back(peer);
    --size_;
    return job;
  }
  std::size_t size_of(const Peer& peer) const {
    const auto entry = jobs_.find(peer);
    return entry == jobs_.end() ? 0 : entry->second.size();
  }
  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }

 private:
  std::map<Peer, std::deque<Job>> jobs_;
  std::deque<Peer> turns_;  // those that have jobs
  std::size_t size_ = 0;
};

}  // namespace exchange
