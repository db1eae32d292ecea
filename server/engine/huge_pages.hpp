#pragma once
// Memory in huge pages. In a table of many megabytes a TLB miss costs as much as a cache miss, and
// more on a virtual machine.

#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

namespace exchange {

inline constexpr std::size_t huge_page = 2u << 20;

// Allocates `bytes`, aligned to huge pages and marked for them. Free them with std::free().
inline void* allocate_huge_pages(std::size_t bytes) {
  bytes = (bytes + huge_page - 1) & ~(huge_page - 1);
  void* memory = std::aligned_alloc(huge_page, bytes);
  if (memory == nullptr) throw std::bad_alloc();
  madvise(memory, bytes, MADV_HUGEPAGE);  // only advice: without huge pages it is slower
  return memory;
}

// Huge pages of the process's address space, aligned. They are all 0, and have no memory until they
// are accessed. Throws std::bad_alloc.
struct Unmap {
  std::size_t bytes = 0;
  void operator()(char* memory) const { munmap(memory, bytes); }
};
using MappedPages = std::unique_ptr<char[], Unmap>;
MappedPages map_huge_pages(std::size_t pages);

// PageSource supplies huge pages that were accessed before. The first access to a page clears 2
// MiB, and on a virtual machine the host may have to find that memory first: that takes 0.2 ms, or
// 4 ms.
class PageSource {
 public:
  // Returns one page, aligned, with any content; null if it has none now. Does not wait.
  virtual MappedPages take_page() = 0;

 protected:
  ~PageSource() = default;
};

// Memory that grows without copying, at addresses that it has reserved. It moves only when these
// are used up. Thread: that of its owner.
class GrowingPages {
 public:
  char* begin() const { return begin_.get(); }  // valid until grow()
  std::size_t size() const { return size_; }    // in bytes
  // Grows by one page. Throws std::bad_alloc; ends the process if the kernel cannot move the
  // memory.
  void grow();
  // After this call it takes pages from `source`, while it has any. `source` must outlive it.
  void take_pages_from(PageSource& source) { source_ = &source; }

 private:
  MappedPages begin_;
  std::size_t size_ = 0;
  PageSource* source_ = nullptr;
};

template <class T>
struct HugePageAllocator {
  using value_type = T;
  HugePageAllocator() = default;
  template <class U>
  HugePageAllocator(const HugePageAllocator<U>&) {}
  T* allocate(std::size_t n) {
    const std::size_t bytes = n * sizeof(T);
    void* memory = bytes < huge_page ? std::malloc(bytes) : allocate_huge_pages(bytes);
    if (memory == nullptr) throw std::bad_alloc();
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, std::size_t) { std::free(memory); }
  bool operator==(const HugePageAllocator&) const = default;
};

// A vector whose memory is in huge pages if it fills at least one.
template <class T>
using HugePageVector = std::vector<T, HugePageAllocator<T>>;

}  // namespace exchange
