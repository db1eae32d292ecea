#pragma once
// SparePages has a thread that accesses huge pages before the engine or the market view needs them.
// That thread runs only while a CPU is idle, so other threads must not wait for it: it uses no
// locks except the kernel's, and a caller that gets no page makes one itself. Owner: Server.

#include <atomic>
#include <cstdint>
#include <vector>

#include "base/thread.hpp"
#include "engine/huge_pages.hpp"

namespace exchange {

class SparePages final : public PageSource {
 public:
  // Keeps `pages` pages ready, from the first take_page() on.
  SparePages(std::size_t pages, OnFatal on_fatal);
  ~SparePages();
  SparePages(const SparePages&) = delete;

  MappedPages take_page() override;  // any thread

 private:
  enum class State { empty, changing, new_page, ready };
  struct Slot {
    std::atomic<State> state = State::empty;
    MappedPages page;  // valid in new_page and ready
  };

  void run();
  void access(char* page) const;

  std::vector<Slot> slots_;
  std::atomic<std::uint32_t> calls_ =
      0;  // counts take_page() and the stop; the thread waits for it
  std::atomic<bool> stopping_ = false;
  const OnFatal on_fatal_;
  Thread thread_;
};

}  // namespace exchange
