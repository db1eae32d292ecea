#pragma once
// The engine's lookups. They allocate only to grow.
// FlatMap maps a 64-bit key to a small value; entries are never erased. Interner maps a text to a
// dense number, in order of arrival; entries are never erased. Both use open addressing with linear
// probing, are at most half full, and hash with a seed, so that no client can choose ids that
// collide. The result of a lookup does not depend on the seed. IdIndex maps an order id to a 32-bit
// index, for ids that are given in sequence and forgotten in any order.
// Every prefetch() is always inline: GCC treats a function that only prefetches as having no
// effect, and drops calls to it.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/ensure.hpp"
#include "engine/huge_pages.hpp"

namespace exchange {

inline constexpr std::uint32_t no_index = UINT32_MAX;

inline std::uint64_t mix_bits(std::uint64_t x) {  // finalizer of splitmix64 (Steele et al. 2014)
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// Value must be small and trivially copyable. Pointers to values are valid until the next insert().
template <class Value>
class FlatMap {
 public:
  static constexpr std::uint64_t key_max = UINT64_MAX - 1;

  explicit FlatMap(std::uint64_t seed) : seed_(seed) {}
  Value* find(std::uint64_t key) { return const_cast<Value*>(std::as_const(*this).find(key)); }
  // Returns null if the key is unknown.
  const Value* find(std::uint64_t key) const {
    for (std::size_t at = home(key);; at = (at + 1) & mask_) {
      if (slots_[at].key == key) return &slots_[at].value;
      if (slots_[at].key == no_key) return nullptr;
    }
  }

  // The key must be new.
  Value& insert(std::uint64_t key, const Value& value) {
    ENSURE(key <= key_max);
    if ((size_ + 1) * 2 > slots_.size()) grow();
    ++size_;
    return place(key, value);
  }

  std::size_t size() const { return size_; }
  // Visits the entries in no particular order.
  template <class Visit>
  void for_each(Visit visit) const {
    for (const Slot& slot : slots_)
      if (slot.key != no_key) visit(slot.key, slot.value);
  }

  [[gnu::always_inline]] void prefetch(std::uint64_t key) const {
    __builtin_prefetch(&slots_[home(key)]);
  }

 private:
  static constexpr std::uint64_t no_key = UINT64_MAX;
  struct Slot {
    std::uint64_t key = no_key;
    Value value{};
  };

  std::size_t home(std::uint64_t key) const { return mix_bits(key ^ seed_) & mask_; }
  Value& place(std::uint64_t key, const Value& value) {
    std::size_t at = home(key);
    while (slots_[at].key != no_key) at = (at + 1) & mask_;
    slots_[at] = {key, value};
    return slots_[at].value;
  }
  void grow() {
    HugePageVector<Slot> old(slots_.size() * 2);
    old.swap(slots_);
    mask_ = slots_.size() - 1;
    for (const Slot& slot : old)
      if (slot.key != no_key) place(slot.key, slot.value);
  }

  std::uint64_t seed_;
  HugePageVector<Slot> slots_ = HugePageVector<Slot>(16);
  std::size_t mask_ = 15;
  std::size_t size_ = 0;
};

// IdIndex has the pages of a direct table: a new id costs no cache miss, a known one costs one. A
// page is freed when its last id goes; one pointer per 1,024 ids of history stays for ever.
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
    if (!pages_[page]) {
      pages_[page] = new_page();
      ++pages_in_use_;
    }
    pages_[page]->index[id & page_mask] = index;
    ++pages_[page]->used;
    ++size_;
  }

  // Requires: the id is in the index.
  void erase(std::uint64_t id) {
    auto& page = pages_[id >> page_bits];
    ENSURE(page && page->index[id & page_mask] != no_index);
    page->index[id & page_mask] = no_index;
    if (--page->used == 0) {
      spare_ = std::move(page);
      --pages_in_use_;
    }
    --size_;
  }

  [[gnu::always_inline]] void prefetch(std::uint64_t id) const {
    const std::uint64_t page = id >> page_bits;
    if (page < pages_.size() && pages_[page])
      __builtin_prefetch(&pages_[page]->index[id & page_mask]);
  }
  std::size_t size() const { return size_; }
  std::size_t pages() const { return pages_in_use_; }

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
  std::size_t size_ = 0, pages_in_use_ = 0;
};

template <class Text>
class Interner {
 public:
  explicit Interner(std::uint64_t seed) : seed_(seed) {}
  std::uint32_t find(const Text& text) const {
    for (std::size_t at = home(text);; at = (at + 1) & mask_) {
      const Slot& slot = slots_[at];
      if (slot.index == no_index || is(slot, text)) return slot.index;
    }
  }

  // The text must be new. Returns its number.
  std::uint32_t add(const Text& text) {
    ENSURE(texts_.size() < no_index);
    if ((texts_.size() + 1) * 2 > slots_.size()) grow();
    texts_.push_back(text);
    const auto index = std::uint32_t(texts_.size() - 1);
    place(index);
    return index;
  }

  [[gnu::always_inline]] void prefetch(const Text& text) const {
    __builtin_prefetch(&slots_[home(text)]);
  }
  const Text& text(std::uint32_t index) const { return texts_[index]; }
  [[gnu::always_inline]] void prefetch_text(std::uint32_t index) const {
    __builtin_prefetch(&texts_[index]);
  }
  std::uint32_t size() const { return std::uint32_t(texts_.size()); }

 private:
  // Ids of up to 8 characters are compared here; the text is not loaded.
  struct Slot {
    std::uint64_t first_word = 0;
    std::uint32_t size = 0;
    std::uint32_t index = no_index;
  };

  std::size_t home(const Text& text) const {
    std::uint64_t hash = seed_ ^ text.view().size();
    for (std::size_t at = 0; at < text.words(); ++at) hash = mix_bits(hash ^ text.word(at));
    return hash & mask_;
  }
  static std::uint64_t first_word(const Text& text) { return text.words() > 0 ? text.word(0) : 0; }
  bool is(const Slot& slot, const Text& text) const {
    return slot.first_word == first_word(text) && slot.size == text.view().size() &&
           (text.words() <= 1 || texts_[slot.index] == text);
  }
  void place(std::uint32_t index) {
    const Text& text = texts_[index];
    std::size_t at = home(text);
    while (slots_[at].index != no_index) at = (at + 1) & mask_;
    slots_[at] = {first_word(text), std::uint32_t(text.view().size()), index};
  }
  void grow() {
    slots_.assign(slots_.size() * 2, Slot{});
    mask_ = slots_.size() - 1;
    for (std::uint32_t index = 0; index < texts_.size(); ++index) place(index);
  }

  std::uint64_t seed_;
  std::vector<Text> texts_;
  HugePageVector<Slot> slots_ = HugePageVector<Slot>(16);
  std::size_t mask_ = 15;
};

// Visits items whose data lies apart, and overlaps their cache misses.
// `prefetch` gets each item some places before `visit` does, and must be always inline.
template <class Item, class Prefetch, class Visit>
void for_each_prefetched(std::span<const Item> items, Prefetch prefetch, Visit visit) {
  constexpr std::size_t ahead = 8;
  for (std::size_t at = 0; at < items.size(); ++at) {
    if (at + ahead < items.size()) prefetch(items[at + ahead]);
    visit(items[at]);
  }
}

}  // namespace exchange
