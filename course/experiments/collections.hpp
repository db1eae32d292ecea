#pragma once
// Maps from number to number that many threads write, each with another guard. All have the same
// three operations:
//   add(key)   adds one to the value of the key; the value starts at 0
//   get(key)   returns the value
//   sum()      after all threads are done: the sum of all values

#include <tbb/concurrent_hash_map.h>
#include <tbb/concurrent_unordered_map.h>

#include <array>
#include <atomic>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

#include "course/experiments/lab.hpp"

namespace exchange::experiments {

using PlainMap = std::unordered_map<long, long>;
inline long value_in(const PlainMap& map, long key) {
  const auto found = map.find(key);
  return found == map.end() ? 0 : found->second;
}
template <class Map>
long sum_of(const Map& map) {
  long sum = 0;
  for (const auto& [key, value] : map) sum += value;
  return sum;
}

// One lock for the whole map; readers may lock it in another way.
template <class Mutex, class ReadLock>
class LockedMap {
 public:
  void add(long key) {
    const std::lock_guard lock(mutex_);
    ++map_[key];
  }
  long get(long key) {
    const ReadLock lock(mutex_);
    return value_in(map_, key);
  }
  long sum() { return sum_of(map_); }

 private:
  Mutex mutex_;
  PlainMap map_;
};
using MutexMap = LockedMap<std::mutex, std::lock_guard<std::mutex>>;
using SharedMutexMap = LockedMap<std::shared_mutex, std::shared_lock<std::shared_mutex>>;

class ShardedMap {
 public:
  void add(long key) { shard(key).add(key); }
  long get(long key) { return shard(key).get(key); }
  long sum() {
    long all = 0;
    for (Shard& shard : shards_) all += shard.map.sum();
    return all;
  }

 private:
  struct alignas(64) Shard {  // so that the locks of two shards do not share a cache line
    MutexMap map;
  };
  MutexMap& shard(long key) { return shards_[std::uint64_t(key) * 0x9E3779B97F4A7C15u >> 60].map; }
  std::array<Shard, 16> shards_;
};

class TbbHashMap {
 public:
  void add(long key) {
    Map::accessor accessor;
    map_.insert(accessor, key);
    ++accessor->second;
  }
  long get(long key) {
    Map::const_accessor accessor;
    return map_.find(accessor, key) ? accessor->second : 0;
  }
  long sum() { return sum_of(map_); }

 private:
  using Map = tbb::concurrent_hash_map<long, long>;
  Map map_;
};

// Never locks, but cannot erase while others use it, and its values themselves must be safe to
// share.
class TbbUnorderedMap {
 public:
  void add(long key) { map_[key].fetch_add(1, std::memory_order_relaxed); }
  long get(long key) {
    const auto found = map_.find(key);
    return found == map_.end() ? 0 : found->second.load(std::memory_order_relaxed);
  }
  long sum() { return sum_of(map_); }

 private:
  tbb::concurrent_unordered_map<long, std::atomic<long>> map_;
};

// Calls visit(name, label, a null pointer to the map) for each kind of map.
template <class Visit>
void for_each_map(Visit visit) {
  visit("mutex", "std::mutex", static_cast<MutexMap*>(nullptr));
  visit("shared", "std::shared_mutex", static_cast<SharedMutexMap*>(nullptr));
  visit("sharded", "16 shards, a mutex each", static_cast<ShardedMap*>(nullptr));
  visit("hash", "tbb::concurrent_hash_map", static_cast<TbbHashMap*>(nullptr));
  visit("unordered", "tbb::concurrent_unordered_map", static_cast<TbbUnorderedMap*>(nullptr));
}

}  // namespace exchange::experiments
