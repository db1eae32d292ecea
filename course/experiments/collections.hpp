#pragma once
// Maps from number to number that many threads write, each with another guard. All have the same
// three operations:
//   add(thread, key)   adds one to the value of the key; the value starts at 0
//   get(thread, key)   returns the value
//   sums()             after all threads are done: the number of keys, and the sum of their values

#include <tbb/concurrent_hash_map.h>
#include <tbb/concurrent_unordered_map.h>

#include <array>
#include <atomic>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

#include "course/experiments/lab.hpp"

namespace exchange::experiments {

struct Sums {
  long keys = 0, values = 0;
};

using PlainMap = std::unordered_map<long, long>;
inline long value_in(const PlainMap& map, long key) {
  const auto found = map.find(key);
  return found == map.end() ? 0 : found->second;
}
template <class Map>
Sums sums_of(const Map& map) {
  Sums sums{long(map.size()), 0};
  for (const auto& [key, value] : map) sums.values += value;
  return sums;
}

// One lock for the whole map; readers may lock it in another way.
template <class Mutex, class ReadLock>
class LockedMap {
 public:
  explicit LockedMap(unsigned) {}
  void add(unsigned, long key) {
    const std::lock_guard lock(mutex_);
    ++map_[key];
  }
  long get(unsigned, long key) {
    const ReadLock lock(mutex_);
    return value_in(map_, key);
  }
  Sums sums() { return sums_of(map_); }

 private:
  Mutex mutex_;
  PlainMap map_;
};
using MutexMap = LockedMap<std::mutex, std::lock_guard<std::mutex>>;
using SharedMutexMap = LockedMap<std::shared_mutex, std::shared_lock<std::shared_mutex>>;

class ShardedMap {
 public:
  explicit ShardedMap(unsigned) {}
  void add(unsigned thread, long key) { shard(key).add(thread, key); }
  long get(unsigned thread, long key) { return shard(key).get(thread, key); }
  Sums sums() {
    Sums all;
    for (Shard& shard : shards_) {
      all.keys += shard.map.sums().keys;
      all.values += shard.map.sums().values;
    }
    return all;
  }

 private:
  struct alignas(64) Shard {  // so that the locks of two shards do not share a cache line
    MutexMap map{1};
  };
  MutexMap& shard(long key) { return shards_[std::uint64_t(key) * 0x9E3779B97F4A7C15u >> 60].map; }
  std::array<Shard, 16> shards_;
};

class TbbHashMap {
 public:
  explicit TbbHashMap(unsigned) {}
  void add(unsigned, long key) {
    Map::accessor accessor;
    map_.insert(accessor, key);
    ++accessor->second;
  }
  long get(unsigned, long key) {
    Map::const_accessor accessor;
    return map_.find(accessor, key) ? accessor->second : 0;
  }
  Sums sums() { return sums_of(map_); }

 private:
  using Map = tbb::concurrent_hash_map<long, long>;
  Map map_;
};

// Never locks, but cannot erase while others use it, and its values themselves must be safe to
// share.
// themselves.
class TbbUnorderedMap {
 public:
  explicit TbbUnorderedMap(unsigned) {}
  void add(unsigned, long key) { map_[key].fetch_add(1, std::memory_order_relaxed); }
  long get(unsigned, long key) {
    const auto found = map_.find(key);
    return found == map_.end() ? 0 : found->second.load(std::memory_order_relaxed);
  }
  Sums sums() { return sums_of(map_); }

 private:
  tbb::concurrent_unordered_map<long, std::atomic<long>> map_;
};

// One map for each thread. Until merge() a thread sees only its own writes.
class ThreadMaps {
 public:
  explicit ThreadMaps(unsigned threads) : maps_(threads) {}
  void add(unsigned thread, long key) { ++maps_[thread].map[key]; }
  long get(unsigned thread, long key) { return value_in(maps_[thread].map, key); }
  void merge() {
    for (std::size_t thread = 1; thread < maps_.size(); ++thread) {
      maps_[0].map.merge(maps_[thread].map);
      // keys that both maps had
      for (const auto& [key, value] : maps_[thread].map) maps_[0].map[key] += value;
      maps_[thread].map.clear();
    }
  }
  Sums sums() {
    merge();
    return sums_of(maps_[0].map);
  }

 private:
  struct alignas(64) OwnMap {
    PlainMap map;
  };
  std::vector<OwnMap> maps_;
};

// Calls visit(name, label, a null pointer to the map) for each kind of map.
template <class Visit>
void for_each_map(Visit visit) {
  visit("mutex", "std::mutex", static_cast<MutexMap*>(nullptr));
  visit("shared", "std::shared_mutex", static_cast<SharedMutexMap*>(nullptr));
  visit("sharded", "16 shards, a mutex each", static_cast<ShardedMap*>(nullptr));
  visit("hash", "tbb::concurrent_hash_map", static_cast<TbbHashMap*>(nullptr));
  visit("unordered", "tbb::concurrent_unordered_map", static_cast<TbbUnorderedMap*>(nullptr));
  visit("own", "a map for each thread", static_cast<ThreadMaps*>(nullptr));
}

}  // namespace exchange::experiments
