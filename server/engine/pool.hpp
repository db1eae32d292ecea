#pragma once
// Pool<T>: objects at stable 32-bit indices, freed slots used again last-in first-out (they are
// warm). Grows in chunks, so that growth never moves what is there; never shrinks.

#include <bit>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <type_traits>
#include <vector>

#include "engine/flat_map.hpp"
#include "engine/huge_pages.hpp"

namespace exchange {

// Chunks of one huge page, at stable addresses.
template <class T>
class Chunks {
 public:
  T& operator[](std::uint32_t index) { return chunks_[index >> bits][index & mask]; }
  const T& operator[](std::uint32_t index) const { return chunks_[index >> bits][index & mask]; }
  // Makes `index` valid; indices become valid in order.
  T& grow_to(std::uint32_t index) {
    if (index >> bits >= chunks_.size()) chunks_.push_back(new_chunk());
    return (*this)[index];
  }
  // From now on, takes chunks there, while it has any.
  void take_pages_from(PageSource& pages) { pages_ = &pages; }

 private:
  static constexpr auto bits = std::bit_width(huge_page / sizeof(T)) - 1;
  static constexpr std::uint32_t mask = (1u << bits) - 1;
  struct Free {
    void operator()(T* chunk) const { std::free(chunk); }
  };
  std::unique_ptr<T[], Free> new_chunk() {
    static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);
    void* memory = pages_ != nullptr ? pages_->take_page() : nullptr;
    if (memory == nullptr) memory = allocate_huge_pages(huge_page);
    return std::unique_ptr<T[], Free>(static_cast<T*>(memory));
  }
  std::vector<std::unique_ptr<T[], Free>> chunks_;
  PageSource* pages_ = nullptr;
};

template <class T>
class Pool {
 public:
  T& operator[](std::uint32_t index) { return items_[index]; }
  const T& operator[](std::uint32_t index) const { return items_[index]; }

  // The slot holds whatever its last user left there.
  std::uint32_t allocate() {
    ++used_;
    if (!free_.empty()) {
      const std::uint32_t index = free_.back();
      free_.pop_back();
      return index;
    }
    ENSURE(next_ < no_index);
    items_.grow_to(next_);
    return next_++;
  }
  void release(std::uint32_t index) {
    --used_;
    free_.push_back(index);
  }
  std::size_t used() const { return used_; }
  void take_pages_from(PageSource& pages) { items_.take_pages_from(pages); }

 private:
  Chunks<T> items_;
  std::vector<std::uint32_t> free_;
  std::uint32_t next_ = 0;
  std::size_t used_ = 0;
};

}  // namespace exchange
