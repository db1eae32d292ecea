#pragma once
// With a large book, cache misses take most of the time of a command. They overlap if the commands
// of a batch go through these stages ahead of apply(), eight at a time, each stage eight commands
// before the next:
//   touch      the command's own bytes, which another thread wrote
//   lookups    the slots of the hash tables that it will look into
//   locate     the account, symbol, order and price level
//   neighbours what a cancel changes beside its order; the order before a new one in its level, or
//              the first that it may be executed against
//   maker      account and position of that one
// The distance was measured with engine_benchmark, and so was cached_working_set: while the state
// is in the caches, all stages but the first cost more than they save.

#include <algorithm>
#include <array>
#include <span>

#include "engine/exchange.hpp"

namespace exchange {

class LookAhead {
 public:
  static constexpr std::size_t cached_working_set = 3u << 20;

  // Both must outlive the object. Valid until release_closed(). Runs only the stage `touch` while
  // the working set of the exchange has at most `cached` bytes.
  LookAhead(const Exchange& exchange, std::span<const Command* const> commands,
            std::size_t cached = cached_working_set)
      : exchange_(exchange), commands_(commands), looks_up_(exchange.working_set() > cached) {}

  // Returns what was found for the next command. Call it before each apply(), and pass the result
  // on.
  const Located& next() {
    if (at_ % step == 0) advance();
    return located_[at_++ % located_.size()];
  }

  // The stages, for a program that runs them itself. None of them changes the state.
  static void prefetch_lookups(const ExchangeState& state, const Command& command);
  static void locate(const ExchangeState& state, const Command& command, Located& located);
  static void prefetch_neighbours(const ExchangeState& state, const Located& located);
  static void prefetch_maker(const ExchangeState& state, const Located& located);

 private:
  static constexpr std::size_t step = 8;

  void advance() {
    const ExchangeState& state = exchange_.state();
    for (; touched_ < ahead(5); ++touched_) touch(*commands_[touched_]);
    if (!looks_up_) return;
    for (; looked_up_ < ahead(4); ++looked_up_) prefetch_lookups(state, *commands_[looked_up_]);
    for (; found_ < ahead(3); ++found_)
      locate(state, *commands_[found_], located_[found_ % located_.size()]);
    for (; neighbours_ < ahead(2); ++neighbours_)
      prefetch_neighbours(state, located_[neighbours_ % located_.size()]);
    for (; makers_ < ahead(1); ++makers_)
      prefetch_maker(state, located_[makers_ % located_.size()]);
  }
  std::size_t ahead(std::size_t steps) const {
    return std::min(at_ + steps * step, commands_.size());
  }
  [[gnu::always_inline]] static void touch(const Command& command) {
    constexpr std::size_t cache_line = 64;
    const char* bytes = reinterpret_cast<const char*>(&command);
    for (std::size_t at = 0; at < sizeof command; at += cache_line) __builtin_prefetch(bytes + at);
  }

  const Exchange& exchange_;
  std::span<const Command* const> commands_;
  const bool looks_up_;
  std::size_t at_ = 0, touched_ = 0, looked_up_ = 0, found_ = 0, neighbours_ = 0, makers_ = 0;
  std::array<Located, 4 * step> located_;
};

}  // namespace exchange
