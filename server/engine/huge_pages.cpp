#include "engine/huge_pages.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <utility>

#include "base/ensure.hpp"

namespace exchange {

namespace {

bool move_page(char* from, char* to) {
  return mremap(from, huge_page, huge_page, MREMAP_MAYMOVE | MREMAP_FIXED, to) != MAP_FAILED;
}

void map_again(char* page) {
  void* const memory =
      mmap(page, huge_page, PROT_READ | PROT_WRITE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  if (memory != page && errno != EEXIST) throw std::bad_alloc();
}

}  // namespace

MappedPages map_huge_pages(std::size_t pages) {
  const std::size_t bytes = pages * huge_page, mapped = bytes + huge_page;  // one more, to align it
  void* const memory = mmap(nullptr, mapped, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  char* const begin = static_cast<char*>(memory);
  const std::size_t before = -reinterpret_cast<std::uintptr_t>(begin) % huge_page;
  if (before > 0) munmap(begin, before);
  munmap(begin + before + bytes, huge_page - before);
  madvise(begin + before, bytes, MADV_HUGEPAGE);  // only advice: without huge pages it is slower
  return MappedPages(begin + before, Unmap{bytes});
}

void GrowingPages::grow() {
  const std::size_t reserved = begin_.get_deleter().bytes;
  if (size_ == reserved) {
    constexpr std::size_t pages_min = 8;
    MappedPages larger =
        map_huge_pages(reserved / huge_page + std::max(pages_min, reserved / huge_page / 4));
    // Move each page separately: pages from a source do not become one mapping. All must be moved.
    for (std::size_t at = 0; at < size_; at += huge_page)
      ENSURE(move_page(&begin_[at], &larger[at]));
    begin_.release();  // now unmapped, or mapped again by another thread
    begin_ = std::move(larger);
  }
  char* const next = &begin_[size_];
  if (source_ != nullptr)
    if (MappedPages page = source_->take_page()) {
      if (move_page(page.get(), next))
        page.release();
      else
        map_again(next);  // the attempt may have unmapped it
    }
  size_ += huge_page;
}

}  // namespace exchange
