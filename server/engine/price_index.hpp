#pragma once
// PriceIndex keeps the price levels of one side of one book in order, with fast access to the best
// one. It maps a rank (higher is better: the price of a bid, minus the price of an ask) to a
// level's index. It consists of sorted blocks of 64 under a sorted directory. Orders arrive near
// the best price, so nearly all work happens at the end of the last block. Far from it, or with a
// million levels, an insert moves one block's entries, and the directory if a block is full.
// Invariants:
// 1. Ranks ascend within a block and from block to block; each occurs once.
// 2. No block is empty; the directory has the first rank of each.
// 3. best_rank and best_level are those of the last entry of the last block.

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/flat_map.hpp"

namespace exchange {

class PriceIndex {
 public:
  bool empty() const { return blocks_.empty(); }
  // Both require a side that is not empty.
  std::int64_t best_rank() const { return best_rank_; }
  std::uint32_t best_level() const { return best_level_; }

  struct Place {
    std::uint32_t level = no_index;  // of this rank; no_index: the rank is new
    std::uint32_t at = 0;            // where it is, or belongs, in its block
    std::size_t block = 0;
  };
  // Returns where this rank is, or belongs.
  Place find(std::int64_t rank) const {
    if (blocks_.empty()) return {};
    if (rank > best_rank_) return {no_index, blocks_.back().block->size, blocks_.size() - 1};
    const std::size_t where = block_of(rank);
    const Block& block = *blocks_[where].block;
    const std::uint32_t at = block.lower_bound(rank);
    const bool is_found = at < block.size && block.ranks[at] == rank;
    return {is_found ? block.levels[at] : no_index, at, where};
  }

  // `place`: what find() returned for this rank, which is new.
  void insert(Place place, std::int64_t rank, std::uint32_t level) {
    const bool is_best = blocks_.empty() || rank > best_rank_;
    if (blocks_.empty()) blocks_.push_back({rank, new_block()});
    if (blocks_[place.block].block->size == block_size) {
      split(place.block);
      if (place.at > block_size / 2) {
        place.at -= block_size / 2;
        ++place.block;
      }
    }
    Slot& slot = blocks_[place.block];
    slot.block->insert(place.at, rank, level);
    if (place.at == 0) slot.first_rank = rank;
    if (is_best) {
      best_rank_ = rank;
      best_level_ = level;
    }
  }

  // Requires: the rank is in the index.
  void erase(std::int64_t rank) {
    const Place place = find(rank);
    ENSURE(place.level != no_index);
    erase(place.block, place.at);
  }
  // Requires: the side is not empty.
  void erase_best() {
    const std::size_t where = blocks_.size() - 1;
    erase(where, blocks_[where].block->size - 1);
  }

  // Visits levels, best first, with their ranks, until `visit` returns false.
  template <class Visit>
  void for_each_while(Visit visit) const {
    for (auto slot = blocks_.rbegin(); slot != blocks_.rend(); ++slot)
      for (std::uint32_t at = slot->block->size; at-- > 0;)
        if (!visit(slot->block->ranks[at], slot->block->levels[at])) return;
  }
  // Visits all levels, best first.
  template <class Visit>
  void for_each(Visit visit) const {
    for_each_while([&](std::int64_t, std::uint32_t level) {
      visit(level);
      return true;
    });
  }

 private:
  static constexpr std::uint32_t block_size = 64;
  static constexpr std::int64_t no_rank = INT64_MAX;
  struct Block {
    std::uint32_t size = 0;
    std::array<std::int64_t, block_size> ranks;  // from `size` on: no_rank
    std::array<std::uint32_t, block_size> levels;

    Block() { ranks.fill(no_rank); }
    // Compares every eighth rank, then the eight that follow. It has no branches, which random
    // prices would mispredict, and no comparison of the eight waits for another. A rank may equal
    // no_rank.
    std::uint32_t lower_bound(std::int64_t rank) const {
      std::uint32_t eighths = 0;
#pragma GCC unroll 8
      for (std::uint32_t at = 7; at < block_size - 1; at += 8) eighths += ranks[at] < rank;
      const std::int64_t* const first = ranks.data() + eighths * 8;
      std::uint32_t below = eighths * 8;
#pragma GCC unroll 8
      for (std::uint32_t at = 0; at < 8; ++at) below += first[at] < rank;
      return below;
    }
    void insert(std::uint32_t at, std::int64_t rank, std::uint32_t level) {
      std::move_backward(ranks.begin() + at, ranks.begin() + size, ranks.begin() + size + 1);
      std::move_backward(levels.begin() + at, levels.begin() + size, levels.begin() + size + 1);
      ranks[at] = rank;
      levels[at] = level;
      ++size;
    }
    void erase(std::uint32_t at) {
      std::move(ranks.begin() + at + 1, ranks.begin() + size, ranks.begin() + at);
      std::move(levels.begin() + at + 1, levels.begin() + size, levels.begin() + at);
      ranks[--size] = no_rank;
    }
  };
  struct Slot {
    std::int64_t first_rank;
    std::unique_ptr<Block> block;
  };

  // Returns the last block whose first rank is not above `rank`; the first block if there is none.
  std::size_t block_of(std::int64_t rank) const {
    if (blocks_.back().first_rank <= rank) return blocks_.size() - 1;
    const auto after =
        std::upper_bound(blocks_.begin(), blocks_.end(), rank,
                         [](std::int64_t r, const Slot& slot) { return r < slot.first_rank; });
    return after == blocks_.begin() ? 0 : std::size_t(after - blocks_.begin()) - 1;
  }
  void erase(std::size_t where, std::uint32_t at) {
    Block& block = *blocks_[where].block;
    block.erase(at);
    if (block.size == 0) {
      spare_.push_back(std::move(blocks_[where].block));
      blocks_.erase(blocks_.begin() + std::ptrdiff_t(where));
    } else {
      blocks_[where].first_rank = block.ranks[0];
    }
    note_best();
  }
  std::unique_ptr<Block> new_block() {
    if (spare_.empty()) return std::make_unique<Block>();
    auto block = std::move(spare_.back());
    spare_.pop_back();
    return block;
  }
  void note_best() {
    if (blocks_.empty()) return;
    const Block& last = *blocks_.back().block;
    best_rank_ = last.ranks[last.size - 1];
    best_level_ = last.levels[last.size - 1];
  }
  void split(std::size_t where) {
    auto upper = new_block();
    Block& lower = *blocks_[where].block;
    const std::uint32_t half = block_size / 2;
    std::copy(lower.ranks.begin() + half, lower.ranks.end(), upper->ranks.begin());
    std::copy(lower.levels.begin() + half, lower.levels.end(), upper->levels.begin());
    upper->size = block_size - half;
    std::fill(lower.ranks.begin() + half, lower.ranks.end(), no_rank);
    lower.size = half;
    const std::int64_t first = upper->ranks[0];
    blocks_.insert(blocks_.begin() + std::ptrdiff_t(where) + 1, Slot{first, std::move(upper)});
  }

  std::int64_t best_rank_ = 0;  // copies of the last block's end, which every order reads first
  std::uint32_t best_level_ = no_index;
  std::vector<Slot> blocks_;
  std::vector<std::unique_ptr<Block>> spare_;
};

}  // namespace exchange
