#pragma once
// A set of transaction ids, one bit each if they are dense. It finds an id that was inserted twice.

#include <array>
#include <bit>
#include <cstdint>
#include <unordered_map>

namespace exchange::loadgen {

class IdSet {
 public:
  // Returns false if `id` is already in the set.
  bool insert(std::uint64_t id) {
    std::uint64_t& word = pages_[id / page_ids][id % page_ids / 64];
    const std::uint64_t bit = std::uint64_t(1) << (id % 64);
    if (word & bit) return false;
    word |= bit;
    return true;
  }
  // Adds all of `other`; returns how many were already in the set.
  std::uint64_t insert(const IdSet& other) {
    std::uint64_t twice = 0;
    for (const auto& [page, words] : other.pages_) {
      auto& own = pages_[page];
      for (std::size_t i = 0; i < words.size(); ++i) {
        twice += std::uint64_t(std::popcount(own[i] & words[i]));
        own[i] |= words[i];
      }
    }
    return twice;
  }

 private:
  static constexpr std::uint64_t page_ids = 512;  // a cache line
  std::unordered_map<std::uint64_t, std::array<std::uint64_t, 8>> pages_;
};

}  // namespace exchange::loadgen
