#include "core/spare_pages.hpp"

#include <cstdlib>

namespace exchange {
namespace {

// All of it, also if the kernel gives small pages.
void access(void* page) {
  constexpr std::size_t small_page = 4'096;
  for (std::size_t at = 0; at < huge_page; at += small_page)
    static_cast<volatile char*>(page)[at] = 0;
}

}  // namespace

SparePages::SparePages(std::size_t pages, OnFatal on_fatal)
    : wanted_(pages), on_fatal_(std::move(on_fatal)) {
  thread_ = start_thread(
      "spare pages", on_fatal_, [this] { run(); }, Priority::idle);
}

SparePages::~SparePages() {
  pages_.with([](Pages& pages) { pages.stopping = true; });
  pages_.notify();
  thread_.join();
  pages_.with([](Pages& pages) {
    for (void* page : pages.ready) std::free(page);
  });
}

void* SparePages::take_page() {
  void* const page = pages_.with([&](Pages& pages) -> void* {
    pages.wanted = wanted_;
    if (pages.ready.empty()) return nullptr;
    void* const last = pages.ready.back();
    pages.ready.pop_back();
    return last;
  });
  pages_.notify();
  return page;
}

std::size_t SparePages::ready() {
  return pages_.with([](const Pages& pages) { return pages.ready.size(); });
}

void SparePages::run() {
  const auto has_work = [](const Pages& pages) {
    return pages.ready.size() < pages.wanted || pages.stopping;
  };
  while (!pages_.when(has_work, [](const Pages& pages) { return pages.stopping; })) {
    void* const page = allocate_huge_pages(huge_page);
    access(page);
    pages_.with([&](Pages& pages) { pages.ready.push_back(page); });
  }
}

}  // namespace exchange
