#pragma once
// Pool<T> keeps objects at 32-bit indices. It reuses freed slots last-in first-out, because they
// are in the cache. It never shrinks. References are valid until the next allocate().

#include <cstdint>
#include <type_traits>
#include <vector>

#include "engine/flat_map.hpp"
#include "engine/huge_pages.hpp"

namespace exchange {

// An array that grows without copying, in huge pages. References are valid until it grows.
template <class T>
class PageArray {
 public:
  T& operator[](std::uint32_t index) { return items()[index]; }
  const T& operator[](std::uint32_t index) const { return items()[index]; }
  // Makes `index` valid.
  T& grow_to(std::uint32_t index) {
    static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);
    const std::size_t bytes = (std::size_t(index) + 1) * sizeof(T);
    while (bytes > pages_.size()) [[unlikely]] pages_.grow();
    return items()[index];
  }
  // After this call it grows by pages from `source`, while it has any. `source` must outlive it.
  void take_pages_from(PageSource& source) { pages_.take_pages_from(source); }

 private:
  T* items() const { return reinterpret_cast<T*>(pages_.begin()); }

  GrowingPages pages_;
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
  void take_pages_from(PageSource& source) { items_.take_pages_from(source); }

 private:
  PageArray<T> items_;
  std::vector<std::uint32_t> free_;
  std::uint32_t next_ = 0;
  std::size_t used_ = 0;
};

}  // namespace exchange
