#pragma once
// A set of transaction ids, one bit each where they are dense: tells at once whether an id came twice.

#include <array>
#include <cstdint>
#include <unordered_map>

namespace exchange::loadgen {

class IdSet {
 public:
  // False where `id` is in the set already.
  bool insert(std::uint64_t id) {
    constexpr std::uint64_t page_ids = 512;  // a cache line
    std::uint64_t& word = pages_[id / page_ids][id % page_ids / 64];
    const std::uint64_t bit = std::uint64_t(1) << (id % 64);
    if (word & bit) return false;
    word |= bit;
    return true;
  }

 private:
  std::unordered_map<std::uint64_t, std::array<std::uint64_t, 8>> pages_;
};

}  // namespace exchange::loadgen
