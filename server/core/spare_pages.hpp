#pragma once
// SparePages has a thread that accesses huge pages before the engine or the market view needs them.
// That thread runs only while a CPU is idle: who finds no spare page makes one itself. Owner: main.

#include <vector>

#include "base/guarded.hpp"
#include "base/thread.hpp"
#include "engine/huge_pages.hpp"

namespace exchange {

class SparePages final : public PageSource {
 public:
  // It keeps so many pages ready from the first take_page() on.
  SparePages(std::size_t pages, OnFatal on_fatal);
  ~SparePages();
  SparePages(const SparePages&) = delete;

  void* take_page() override;  // any thread
  std::size_t ready();         // pages

 private:
  struct Pages {
    std::vector<void*> ready;
    std::size_t wanted = 0;
    bool stopping = false;
  };

  void run();

  const std::size_t wanted_;
  const OnFatal on_fatal_;
  Guarded<Pages> pages_;
  Thread thread_;
};

}  // namespace exchange
