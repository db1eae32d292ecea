#pragma once
// The engine's lookups; none of them allocates unless it grows.
// FlatMap: 64-bit key to 32-bit index, never erased. Interner: text to a dense number, in order of
// arrival, never erased. Both are open addressing with linear probing, at most half full, and hash
// with a seed, so that no client can choose ids that collide. Where things are found does not
// depend on it. IdIndex: order id to 32-bit index, for ids that are given in sequence and forgotten
// in any order.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <memory>
#include <vector>

#include "base/ensure.hpp"

namespace exchange {

inline constexpr std::uint32_t no_index = UINT32_MAX;

inline std::uint64_t mix_bits(std::uint64_t x) {  // finalizer of splitmix64 (Steele et al. 2014)
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

class FlatMap {
 public:
  explicit FlatMap(std::uint64_t seed) : seed_(seed) {}
  std::uint32_t find(std::uint64_t key) const {
    for (std::size_t at = home(key);; at = (at + 1) & mask_) {
      if (slots_[at].index == no_index) return no_index;
      if (slots_[at].key == key) return slots_[at].index;
    }
  }

  // The key must be new.
  void insert(std::uint64_t key, std::uint32_t index) {
    if ((size_ + 1) * 2 > slots_.size()) grow();
    ++size_;
    place(key, index);
  }

  void prefetch(std::uint64_t key) const { __builtin_prefetch(&slots_[home(key)]); }

 private:
  struct Slot {
    std::uint64_t key = 0;
    std::uint32_t index = no_index;
  };

  std::size_t home(std::uint64_t key) const { return mix_bits(key ^ seed_) & mask_; }
  void place(std::uint64_t key, std::uint32_t index) {
    std::size_t at = home(key);
    while (slots_[at].index != no_index) at = (at + 1) & mask_;
    slots_[at] = {key, index};
  }
  void grow() {
    std::vector<Slot> old(slots_.size() * 2);
    old.swap(slots_);
    mask_ = slots_.size() - 1;
    for (const Slot& slot : old)
      if (slot.index != no_index) place(slot.key, slot.index);
  }

  std::uint64_t seed_;
  std::vector<Slot> slots_ = std::vector<Slot>(16);
  std::size_t mask_ = 15;
  std::size_t size_ = 0;
};

// Pages of a direct table: a new id costs no miss, a known one costs one. A page is freed when its
// last id goes; what stays for ever is one pointer per 1,024 ids of history.
class IdIndex {
 public:
  std::uint32_t find(std::uint64_t id) const {
    const std::uint64_t page = id >> page_bits;
    return page < pages_.size() && pages_[page] ? pages_[page]->index[id & page_mask] : no_index;
  }

  // The id must be new.
  void insert(std::uint64_t id, std::uint32_t index) {
    const std::uint64_t page = id >> page_bits;
    if (page >= pages_.size()) pages_.resize(page + 1);
    if (!pages_[page]) pages_[page] = new_page();
    pages_[page]->index[id & page_mask] = index;
    ++pages_[page]->used;
    ++size_;
  }

  // The id must be there.
  void erase(std::uint64_t id) {
    auto& page = pages_[id >> page_bits];
    ENSURE(page && page->index[id & page_mask] != no_index);
    page->index[id & page_mask] = no_index;
    if (--page->used == 0) spare_ = std::move(page);
    --size_;
  }

  void prefetch(std::uint64_t id) const {
    const std::uint64_t page = id >> page_bits;
    if (page < pages_.size() && pages_[page])
      __builtin_prefetch(&pages_[page]->index[id & page_mask]);
  }
  std::size_t size() const { return size_; }

 private:
  static constexpr std::uint32_t page_bits = 10, page_mask = (1u << page_bits) - 1;
  struct Page {
    std::uint32_t used = 0;
    std::uint32_t index[1u << page_bits];
  };

  std::unique_ptr<Page> new_page() {
    if (spare_) return std::move(spare_);
    auto page = std::make_unique<Page>();
    std::fill(std::begin(page->index), std::end(page->index), no_index);
    return page;
  }

  std::vector<std::unique_ptr<Page>> pages_;
  std::unique_ptr<Page> spare_;  // the last page freed, all empty
  std::size_t size_ = 0;
};

template <class Text>
class Interner {
 public:
  explicit Interner(std::uint64_t seed) : seed_(seed) {}
  std::uint32_t find(const Text& text) const {
    const std::uint64_t hash = hash_of(text);
    for (std::size_t at = hash & mask_;; at = (at + 1) & mask_) {
      const Slot& slot = slots_[at];
      if (slot.index == no_index) return no_index;
      if (slot.tag == tag_of(hash) && texts_[slot.index] == text) return slot.index;
    }
  }

  // The text must be new. Returns its number.
  std::uint32_t add(const Text& text) {
    ENSURE(texts_.size() < no_index);
    if ((texts_.size() + 1) * 2 > slots_.size()) grow();
    texts_.push_back(text);
    place(hash_of(text), std::uint32_t(texts_.size() - 1));
    return std::uint32_t(texts_.size() - 1);
  }

  const Text& text(std::uint32_t index) const { return texts_[index]; }
  std::uint32_t size() const { return std::uint32_t(texts_.size()); }

 private:
  struct Slot {
    std::uint32_t tag = 0;
    std::uint32_t index = no_index;
  };

  std::uint64_t hash_of(const Text& text) const {
    std::uint64_t hash = seed_ ^ text.view().size();
    for (std::size_t at = 0; at < text.words(); ++at) hash = mix_bits(hash ^ text.word(at));
    return hash;
  }
  static std::uint32_t tag_of(std::uint64_t hash) { return std::uint32_t(hash >> 32); }
  void place(std::uint64_t hash, std::uint32_t index) {
    std::size_t at = hash & mask_;
    while (slots_[at].index != no_index) at = (at + 1) & mask_;
    slots_[at] = {tag_of(hash), index};
  }
  void grow() {
    slots_.assign(slots_.size() * 2, Slot{});
    mask_ = slots_.size() - 1;
    for (std::uint32_t index = 0; index < texts_.size(); ++index)
      place(hash_of(texts_[index]), index);
  }

  std::uint64_t seed_;
  std::vector<Text> texts_;
  std::vector<Slot> slots_ = std::vector<Slot>(16);
  std::size_t mask_ = 15;
};

}  // namespace exchange
