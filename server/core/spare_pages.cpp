#include "core/spare_pages.hpp"

#include <utility>

namespace exchange {

SparePages::SparePages(std::size_t pages, OnFatal on_fatal)
    : slots_(pages), on_fatal_(std::move(on_fatal)) {
  thread_ = start_thread(
      "spare pages", on_fatal_, [this] { run(); }, Priority::idle);
}

SparePages::~SparePages() {
  stopping_ = true;
  ++calls_;
  calls_.notify_one();
  thread_.join();
}

// Maps new pages on the caller's thread, which is quick. The spare thread would map them under a
// lock of the address space.
MappedPages SparePages::take_page() {
  MappedPages page;
  for (Slot& slot : slots_) {
    State ready = State::ready, empty = State::empty;
    if (!page && slot.state.compare_exchange_strong(ready, State::changing))
      page = std::move(slot.page);
    else if (!slot.state.compare_exchange_strong(empty, State::changing))
      continue;
    try {
      slot.page = map_huge_pages(1);
      slot.state = State::new_page;
    } catch (const std::bad_alloc&) {
      slot.state = State::empty;
    }
  }
  ++calls_;
  calls_.notify_one();
  return page;
}

void SparePages::run() {
  for (std::uint32_t seen = 0; !stopping_;) {
    calls_.wait(seen);
    seen = calls_;
    for (Slot& slot : slots_) {
      if (slot.state != State::new_page) continue;
      access(slot.page.get());
      slot.state = State::ready;
    }
  }
}

// Accesses the whole page, in case the kernel provides small pages.
void SparePages::access(char* page) const {
  constexpr std::size_t small_page = 4'096;
  for (std::size_t at = 0; at < huge_page && !stopping_; at += small_page)
    static_cast<volatile char&>(page[at]) = 0;
}

}  // namespace exchange
